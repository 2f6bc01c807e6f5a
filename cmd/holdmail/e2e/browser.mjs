// A wallet in a web page of another origin than the relay's: /?relay=URL. It
// carries mail through the relay, then asks until it is refused, and posts what
// it saw, or what went wrong, to /result of its own origin.

import { secp256k1 } from '@noble/curves/secp256k1.js';
import { bytesToHex } from '@noble/hashes/utils.js';

import { forms, Relay } from './relay.mjs';

const base58Alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

class Wallet {
  #key = secp256k1.utils.randomSecretKey();

  constructor() {
    const multikey = [0xe7, 0x01, ...secp256k1.getPublicKey(this.#key)];
    this.did = `did:key:z${base58(multikey)}`;
  }

  // prove answers a challenge with a proof of control: r||s over its SHA-256.
  prove(challenge) {
    const signature = secp256k1.sign(new TextEncoder().encode(challenge), this.#key);
    return { did: this.did, challenge, signature: bytesToHex(signature) };
  }
}

function base58(bytes) {
  let number = bytes.reduce((sum, byte) => sum * 256n + BigInt(byte), 0n);
  let text = '';
  for (; number > 0n; number /= 58n) {
    text = base58Alphabet[Number(number % 58n)] + text;
  }
  return text;
}

function base64url(text) {
  return btoa(text).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

// envelope is one that nobody can open, for one wallet.
function envelope(wallet, text) {
  const recipients = [{ header: { kid: `${wallet.did}#key` }, encrypted_key: 'AAAA' }];
  return JSON.stringify({
    protected: base64url('{"enc":"A256GCM"}'), recipients, iv: 'AAAA', tag: 'AAAA', ciphertext: base64url(text),
  });
}

// carry deposits an envelope in each form, fetches and removes them, and returns
// how many came back as they were, were removed, and were left.
async function carry(relay) {
  const wallet = new Wallet();
  const kept = [];
  for (const [name, form] of Object.entries(forms)) {
    const packed = envelope(wallet, name);
    await relay.deposit(form.contentType, form.body(packed));
    kept.push(form.kept(packed));
  }
  const messages = await relay.fetch(wallet);
  const unchanged = messages.filter(({ message }, i) => message === kept[i]).length;
  const removed = await relay.remove(wallet, messages.map(({ id }) => id));
  const left = (await relay.fetch(wallet)).length;
  return { unchanged, removed, left };
}

// exhaust asks for challenges until the relay refuses one, and returns the
// refusal as a page can read it.
async function exhaust(base) {
  for (let asked = 0; asked < 100; asked += 1) {
    const response = await fetch(`${base}/api/v1/challenge`);
    const answer = await response.json();
    if (response.status !== 200) {
      const { error, resetAt } = answer;
      return { status: response.status, error, resetAt, retryAfter: response.headers.get('Retry-After'), now: Date.now() / 1000 };
    }
  }
  throw new Error('a hundred challenges and no refusal');
}

async function visit() {
  const base = new URL(location.href).searchParams.get('relay');
  const carried = await carry(new Relay(base));
  return { carried, refusal: await exhaust(base) };
}

const result = await visit().catch((error) => ({ failed: String(error?.stack ?? error) }));
await fetch('/result', { method: 'POST', body: JSON.stringify(result) });
