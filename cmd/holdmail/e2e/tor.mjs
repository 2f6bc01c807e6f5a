// Two wallets write to each other, and neither calls any relay but its own:
//
//   ANNS_RELAY=http://127.0.0.1:4236 BOBS_RELAY=http://127.0.0.1:4238 node tor.mjs
//
// It prints one line when Bob's relay is to crash, and waits for one until it is back.

import assert from 'node:assert/strict';
import { once } from 'node:events';

import { authcrypt, open } from './didcomm.mjs';
import { Relay } from './relay.mjs';
import { Wallet } from './wallet.mjs';

const ann = { wallet: new Wallet('key', 1), relay: new Relay(process.env.ANNS_RELAY) };
const bob = { wallet: new Wallet('key', 1), relay: new Relay(process.env.BOBS_RELAY) };

await write(ann, bob, 'before the crash');
console.log('crash');
await once(process.stdin, 'data');
process.stdin.destroy();
await write(ann, bob, 'after it');
await read(bob, ann, ['before the crash', 'after it']);
await write(bob, ann, 'Grüße, 世界');
await read(ann, bob, ['Grüße, 世界']);

async function write(from, to, text) {
  const packed = await authcrypt(from.wallet, to.wallet, text);
  const endpoint = await to.relay.endpoint(); // as the DID document would name it
  assert.match(endpoint, /^http:\/\/[a-z2-7]{56}\.onion\/didcomm$/);
  const ids = await from.relay.deliver(from.wallet, endpoint, packed);
  assert.equal(ids.length, 1);
}

async function read(owner, sender, texts) {
  const messages = await owner.relay.fetch(owner.wallet);
  const opened = await Promise.all(messages.map(({ message }) => open(owner.wallet, sender.wallet, message)));
  const trusted = { from: sender.wallet.did, keyIds: owner.wallet.keyIds, authenticated: true };
  assert.deepEqual(opened, texts.map((text) => ({ text, ...trusted })));
  assert.equal(await owner.relay.remove(owner.wallet, messages.map(({ id }) => id)), texts.length);
}
