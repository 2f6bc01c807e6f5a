// The calls that a wallet makes to a relay.

export class Relay {
  constructor(base) {
    this.base = base;
  }

  // deposit posts a body and returns the ids it was filed under.
  async deposit(contentType, body) {
    const answer = await this.#call('POST', '/api/v1/messages', contentType, body);
    return answer.ids;
  }

  // fetch returns the wallet's mail, oldest first.
  async fetch(wallet) {
    const answer = await this.#prove('/api/v1/messages/fetch', wallet);
    return answer.messages;
  }

  // remove acknowledges mail and returns how many were removed.
  async remove(wallet, ids) {
    const answer = await this.#prove('/api/v1/messages/remove', wallet, { ids });
    return answer.removed;
  }

  // deliver has the relay bring a packed envelope to another one, and returns the ids
  // that this one gave.
  async deliver(wallet, endpoint, packed) {
    const answer = await this.#prove('/api/v1/deliver', wallet, { endpoint, message: packed });
    return answer.ids;
  }

  // endpoint is where the relay says that others reach it.
  async endpoint() {
    const answer = await this.#call('GET', '/api/v1/didcomm-endpoint');
    return answer.endpoint;
  }

  async #prove(path, wallet, more = {}) {
    const { challenge } = await this.#call('GET', '/api/v1/challenge');
    const request = { ...wallet.prove(challenge), ...more };
    return this.#call('POST', path, 'application/json', JSON.stringify(request));
  }

  async #call(method, path, contentType, body) {
    const headers = contentType ? { 'content-type': contentType } : {};
    const response = await fetch(this.base + path, { method, headers, body });
    const text = await response.text();
    if (response.status !== 200) {
      throw new Error(`${method} ${path}: ${response.status} ${text}`);
    }
    return JSON.parse(text);
  }
}

// forms are the three bodies in which a packed envelope may be deposited. kept
// is the text that the recipient must get back.
export const forms = {
  raw: {
    contentType: 'application/didcomm-encrypted+json',
    body: (packed) => packed,
    kept: (packed) => packed,
  },
  message: {
    contentType: 'application/json',
    body: (packed) => JSON.stringify({ message: packed }),
    kept: (packed) => packed,
  },
  object: {
    contentType: 'application/json',
    body: (packed) => JSON.stringify(JSON.parse(packed), null, 2),
    kept: (packed) => JSON.stringify(JSON.parse(packed)),
  },
};
