// Holders of DIDs that need no resolver send and receive through a running relay
// that has none:
//
//   RELAY=http://127.0.0.1:4236 node resolvers.mjs

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { anoncrypt, authcrypt, open } from './didcomm.mjs';
import { Holder } from './methods.mjs';
import { Relay } from './relay.mjs';

const relay = new Relay(process.env.RELAY);
const packedType = 'application/didcomm-encrypted+json';

const kinds = [
  ['peer:2', 'Ed25519'],
  ['peer:2', 'P-256'],
  ['peer:2', 'secp256k1'],
  ['peer:4', 'Ed25519'],
  ['peer:4', 'P-256'],
  ['peer:4', 'secp256k1'],
  ['key', 'Ed25519'],
  ['key', 'P-256'],
  ['jwk', 'P-256'],
];

for (const [method, curve] of kinds) {
  for (const pack of [authcrypt, anoncrypt]) {
    test(`did:${method} that signs with ${curve}, ${pack.name}`, async () => {
      const recipient = new Holder(method, curve);
      const sender = newSender(recipient);
      const [id] = await send(pack, sender, recipient, 'hello');
      const [message] = await relay.fetch(recipient);
      await wantOpened(pack, sender, recipient, message.message, 'hello');
      assert.equal(await relay.remove(recipient, [id]), 1);
      assert.deepEqual(await relay.fetch(recipient), []);
    });
  }
}

test('another holder of the same kind is refused', async () => {
  for (const [method, curve] of kinds) {
    const [holder, stranger] = [new Holder(method, curve), new Holder(method, curve)];
    const impostor = { prove: (challenge) => ({ ...stranger.prove(challenge), did: holder.did }) };
    await assert.rejects(relay.fetch(impostor), /: 401 /, `${method}, ${curve}`);
  }
});

test('both forms of a did:peer:4 are one mailbox', async () => {
  const sender = new Holder('key', 'Ed25519');
  const recipient = new Holder('peer:4', 'Ed25519');
  const ids = [
    ...(await send(authcrypt, sender, recipient, 'to the long form')),
    ...(await send(authcrypt, sender, recipient.shortly, 'to the short form')),
  ];
  await assert.rejects(relay.fetch(recipient.shortly), /: 401 /, 'the short form before the long one was seen');

  for (const form of [recipient, recipient.shortly]) {
    const messages = await relay.fetch(form);
    assert.deepEqual(messages.map(({ id }) => id), ids, `${form.did.length} characters of DID`);
    await wantOpened(authcrypt, sender, recipient, messages[0].message, 'to the long form');
    await wantOpened(authcrypt, sender, recipient.shortly, messages[1].message, 'to the short form');
  }
  assert.equal(await relay.remove(recipient.shortly, ids), 2);
  assert.deepEqual(await relay.fetch(recipient), []);
});

// newSender can encrypt to a recipient: both must have a key on the same curve.
function newSender({ encrypting }) {
  return encrypting.asymmetricKeyType === 'ec' ? new Holder('key', 'P-256') : new Holder('peer:2', 'Ed25519');
}

async function send(pack, sender, recipient, text) {
  const ids = await relay.deposit(packedType, await pack(sender, recipient, text));
  assert.equal(ids.length, 1);
  return ids;
}

async function wantOpened(pack, sender, recipient, packed, text) {
  assert.deepEqual(await open(recipient, sender, packed), {
    text,
    from: pack === anoncrypt ? undefined : sender.did,
    keyIds: recipient.keyIds,
    authenticated: pack !== anoncrypt,
  });
}
