// Wallets that nobody here wrote send and receive through a running relay:
//
//   RELAY=http://127.0.0.1:4236 GATEKEEPER=http://127.0.0.1:4224 node clients.mjs
//
// The Gatekeeper must take documents by PUT, as the test's own does.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { GeneralEncrypt, generalDecrypt, importJWK } from 'jose';

import { anoncrypt, authcrypt, hiddenAuthcrypt, open } from './didcomm.mjs';
import { forms, Relay } from './relay.mjs';
import { Wallet } from './wallet.mjs';

const relay = new Relay(process.env.RELAY);
const text = 'Grüße, 世界 \u2028 🦉 "quoted" \\ and </script>';

for (const pack of [authcrypt, hiddenAuthcrypt, anoncrypt]) {
  for (const encryptionKeys of [1, 3]) {
    for (const method of ['key', 'cid']) {
      for (const form of Object.keys(forms)) {
        test(`didcomm-node, ${pack.name}, ${encryptionKeys} key(s), did:${method}, ${form} body`, async () => {
          const sender = new Wallet('key', 1);
          const recipient = await newRecipient(method, encryptionKeys);
          const packed = await pack(sender, recipient, text);

          const ids = await deposit(packed, form);
          assert.equal(ids.length, 1, 'one mailbox, however many keys');
          const received = await fetchOne(recipient, ids[0], forms[form].kept(packed));

          const opened = await open(recipient, sender, received);
          assert.deepEqual(opened, {
            text,
            from: pack === anoncrypt ? undefined : sender.did,
            keyIds: recipient.keyIds,
            authenticated: pack !== anoncrypt,
          });
          await removeOne(recipient, ids[0]);
        });
      }
    }
  }
}

for (const form of Object.keys(forms)) {
  test(`jose, one general JWE for three DIDs, ${form} body`, async () => {
    const recipients = await Promise.all([newRecipient('key', 1), newRecipient('cid', 1), newRecipient('key', 1)]);
    const packed = await sealForAll(recipients, text);

    const ids = await deposit(packed, form);
    assert.equal(new Set(ids).size, 3, 'one mailbox each');
    for (const [i, recipient] of recipients.entries()) {
      const received = await fetchOne(recipient, ids[i], forms[form].kept(packed));
      const key = await importJWK(recipient.encryption[0].privateJwk, 'ECDH-ES+A256KW');
      const { plaintext } = await generalDecrypt(JSON.parse(received), key);
      assert.equal(new TextDecoder().decode(plaintext), text);
      await removeOne(recipient, ids[i]);
    }
  });
}

async function newRecipient(method, encryptionKeys) {
  const wallet = new Wallet(method, encryptionKeys);
  if (method === 'cid') {
    const url = `${process.env.GATEKEEPER}/api/v1/did/${wallet.did}`;
    const response = await fetch(url, { method: 'PUT', body: JSON.stringify(wallet.relayDocument()) });
    assert.equal(response.status, 204, 'publishing a DID document');
  }
  return wallet;
}

function deposit(packed, form) {
  return relay.deposit(forms[form].contentType, forms[form].body(packed));
}

async function fetchOne(wallet, id, kept) {
  const messages = await relay.fetch(wallet);
  assert.equal(messages.length, 1, 'messages waiting');
  assert.equal(messages[0].id, id);
  assert.equal(messages[0].message, kept);
  assert.match(messages[0].received, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  return messages[0].message;
}

async function removeOne(wallet, id) {
  assert.equal(await relay.remove(wallet, [id]), 1, 'messages removed');
  assert.deepEqual(await relay.fetch(wallet), [], 'the mailbox afterwards');
}

async function sealForAll(wallets, plaintext) {
  const jwe = new GeneralEncrypt(new TextEncoder().encode(plaintext)).setProtectedHeader({ enc: 'A256GCM' });
  for (const { encryption } of wallets) {
    const key = await importJWK(encryption[0].publicJwk, 'ECDH-ES+A256KW');
    jwe.addRecipient(key).setUnprotectedHeader({ alg: 'ECDH-ES+A256KW', kid: encryption[0].kid });
  }
  return JSON.stringify(await jwe.encrypt());
}
