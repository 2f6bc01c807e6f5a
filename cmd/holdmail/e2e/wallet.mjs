// A wallet as a stranger would write one: its keys, its DID and its signatures
// come from Node's own crypto, and nothing here is shared with the relay.

import { createHash, generateKeyPairSync, sign } from 'node:crypto';

const curveOrder = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const base58Alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

// Wallet holds one DID: a secp256k1 key that proves control of it, and the
// X25519 keys that mail to it is encrypted for.
export class Wallet {
  #signingKey;

  constructor(method, encryptionKeys) {
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'secp256k1' });
    this.#signingKey = privateKey;
    this.signingJwk = publicKey.export({ format: 'jwk' });
    this.did = { key: didKey, cid: didCid }[method](this.signingJwk);
    this.encryption = Array.from({ length: encryptionKeys }, (_, i) => {
      const pair = generateKeyPairSync('x25519');
      return {
        kid: `${this.did}#encryption-${i + 1}`,
        publicJwk: pair.publicKey.export({ format: 'jwk' }),
        privateJwk: pair.privateKey.export({ format: 'jwk' }),
      };
    });
  }

  // keyIds are the names a sender encrypts to.
  get keyIds() {
    return this.encryption.map((key) => key.kid);
  }

  // prove answers a challenge with a proof of control: hex of r||s over its
  // SHA-256. Node may give either s; the relay takes the low one only.
  prove(challenge) {
    const signature = sign('sha256', Buffer.from(challenge), {
      key: this.#signingKey,
      dsaEncoding: 'ieee-p1363',
    });
    return { did: this.did, challenge, signature: lowS(signature).toString('hex') };
  }

  // relayDocument is what a Gatekeeper tells the relay: the key that signs.
  relayDocument() {
    const method = {
      id: '#key-1',
      controller: this.did,
      type: 'EcdsaSecp256k1VerificationKey2019',
      publicKeyJwk: this.signingJwk,
    };
    return { id: this.did, verificationMethod: [method], authentication: ['#key-1'] };
  }

  // senderDocument is what a sender's library needs: the keys to encrypt to.
  senderDocument() {
    return {
      id: this.did,
      keyAgreement: this.keyIds,
      authentication: [],
      verificationMethod: this.encryption.map((key) => ({
        id: key.kid,
        type: 'JsonWebKey2020',
        controller: this.did,
        publicKeyJwk: key.publicJwk,
      })),
      service: [],
    };
  }

  // secrets are this wallet's private keys in didcomm-node's form.
  secrets() {
    return this.encryption.map((key) => ({
      id: key.kid,
      type: 'JsonWebKey2020',
      privateKeyJwk: key.privateJwk,
    }));
  }
}

// didKey spells a DID that is its own key: multicodec 0xe7 0x01 and the
// compressed point, in base58btc.
function didKey({ x, y }) {
  const odd = Buffer.from(y, 'base64url').at(-1) & 1;
  const point = Buffer.concat([Buffer.from([2 + odd]), Buffer.from(x, 'base64url')]);
  return `did:key:z${base58(Buffer.concat([Buffer.from([0xe7, 0x01]), point]))}`;
}

// didCid spells a DID in the shape of the Gatekeeper's own method.
function didCid(jwk) {
  return `did:cid:z${base58(createHash('sha256').update(JSON.stringify(jwk)).digest())}`;
}

// base58 encodes a number; leading zero bytes, which no did:key has, are lost.
function base58(bytes) {
  let number = BigInt(`0x${bytes.toString('hex')}`);
  let text = '';
  for (; number > 0n; number /= 58n) {
    text = base58Alphabet[Number(number % 58n)] + text;
  }
  return text;
}

function lowS(signature) {
  const s = BigInt(`0x${signature.subarray(32).toString('hex')}`);
  if (s <= curveOrder / 2n) {
    return signature;
  }
  const low = (curveOrder - s).toString(16).padStart(64, '0');
  return Buffer.concat([signature.subarray(0, 32), Buffer.from(low, 'hex')]);
}
