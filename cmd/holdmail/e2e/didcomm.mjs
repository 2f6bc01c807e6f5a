// Envelopes packed and opened by didcomm-node.

import { Message } from 'didcomm-node';

// authcrypt packs a message whose sender the recipient can authenticate.
export const authcrypt = (from, to, text) => pack(from, to, text, {});

// hiddenAuthcrypt is authcrypt whose sender nobody else can see.
export const hiddenAuthcrypt = (from, to, text) => pack(from, to, text, { protect_sender: true });

// anoncrypt packs a message from nobody in particular.
export const anoncrypt = (_, to, text) => pack(null, to, text, {});

// open unpacks what the wallet received, knowing its own secrets only.
export async function open(wallet, sender, packed) {
  const [message, metadata] = await Message.unpack(packed, resolver(wallet, sender), secretsOf(wallet), {});
  const { body, from } = message.as_value();
  return { text: body.text, from, keyIds: metadata.encrypted_to_kids, authenticated: metadata.authenticated };
}

async function pack(from, to, text, options) {
  const message = new Message({
    id: crypto.randomUUID(),
    typ: 'application/didcomm-plain+json',
    type: 'https://didcomm.org/basicmessage/2.0/message',
    ...(from && { from: from.did }),
    to: [to.did],
    body: { text },
  });
  const known = from ? [from, to] : [to];
  const secrets = from ? secretsOf(from) : secretsOf();
  const [packed] = await message.pack_encrypted(to.did, from && from.did, null, resolver(...known), secrets, {
    forward: false,
    ...options,
  });
  return packed;
}

function resolver(...wallets) {
  return {
    resolve: async (did) => wallets.find((wallet) => wallet.did === did)?.senderDocument() ?? null,
  };
}

function secretsOf(...wallets) {
  const secrets = wallets.flatMap((wallet) => wallet.secrets());
  return {
    get_secret: async (id) => secrets.find((secret) => secret.id === id) ?? null,
    find_secrets: async (ids) => ids.filter((id) => secrets.some((secret) => secret.id === id)),
  };
}
