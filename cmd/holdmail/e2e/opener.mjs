// A home computer that nobody here wrote the sealing of: it drains a relay and opens
// what came with npm's own HPKE. It prints each request on a line, as it was sealed,
// and answers each with 202 and "opened", until it is killed.

import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { Aes256Gcm, CipherSuite, DhkemX25519HkdfSha256, HkdfSha256 } from '@hpke/core';
import { XWing } from '@hpke/hybridkem-x-wing';

const { RELAY, KEY, HOOK } = process.env;
const key = JSON.parse(await readFile(KEY, 'utf8'));
const forms = { hm1: { kem: DhkemX25519HkdfSha256, encapsulated: 32 }, hm2: { kem: XWing, encapsulated: 1120 } };
const form = forms[key.setup.split('.')[0]];
const suite = new CipherSuite({ kem: new form.kem(), kdf: new HkdfSha256(), aead: new Aes256Gcm() });
const privateKey = await suite.kem.importKey('raw', bytes(key.privateKey, 'base64url'), false);

await call('PUT', '/relay/v1/hooks', { hooks: [createHash('sha256').update(HOOK).digest('hex')] });
console.log('registered');
for (;;) {
  const { deliveries } = await call('GET', '/relay/v1/next?wait=25');
  for (const delivery of deliveries) {
    await onlyAs(delivery);
    console.log(new TextDecoder().decode(await open(delivery)));
    const answer = { status: 202, headers: [['Content-Type', 'text/plain']], body: { text: 'opened' } };
    await call('POST', '/relay/v1/ack', { ids: [delivery.id], answers: { [delivery.id]: answer } });
  }
}

async function open({ id, receivedAt, sealed }) {
  const all = bytes(sealed, 'base64');
  const recipient = await suite.createRecipientContext({
    recipientKey: privateKey,
    enc: all.slice(0, form.encapsulated),
    info: new TextEncoder().encode('holdmail/delivery/v1'),
  });
  return recipient.open(all.slice(form.encapsulated), new TextEncoder().encode(`${id}.${receivedAt}`));
}

// onlyAs makes sure that a delivery does not open under another time.
async function onlyAs(delivery) {
  let opened = true;
  try {
    await open({ ...delivery, receivedAt: delivery.receivedAt + 1 });
  } catch {
    opened = false;
  }
  if (opened) {
    throw new Error('a delivery opens under another time than the relay took it at');
  }
}

async function call(method, path, body) {
  const headers = { authorization: `Bearer ${key.token}`, 'content-type': 'application/json' };
  const response = await fetch(RELAY + path, { method, headers, body: body && JSON.stringify(body) });
  const text = await response.text();
  if (!response.ok) {
    throw new Error(`${method} ${path}: ${response.status} ${text}`);
  }
  return text && JSON.parse(text);
}

// bytes are those of a text, in a buffer of their own.
function bytes(text, encoding) {
  return new Uint8Array(Buffer.from(text, encoding)).buffer;
}
