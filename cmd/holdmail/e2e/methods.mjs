// DIDs that hold their own keys, written and read as their specifications say, with
// nothing of the relay's. Keys and signatures are those of Node's crypto.

import { createHash, createPrivateKey, createPublicKey, ECDH, generateKeyPairSync, sign } from 'node:crypto';

import { ed25519 } from '@noble/curves/ed25519.js';

const alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
const codecs = { Ed25519: 'ed01', X25519: 'ec01', secp256k1: 'e701', 'P-256': '8024' };
const names = { Ed25519: 'ed25519', X25519: 'x25519', secp256k1: 'secp256k1', 'P-256': 'prime256v1' };
const secp256k1Order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

// Holder is somebody with a DID: a key that signs, and one that mail is encrypted to.
// Its DID is one of the methods below.
export class Holder {
  constructor(method, curve) {
    this.signing = newKey(curve);
    this.encrypting = encryptionKey(method, curve, this.signing);
    this.did = write[method](jwkOf(this.signing), jwkOf(this.encrypting));
    this.long = this.did;
  }

  // shortly is the same holder under the short form of its did:peer:4.
  get shortly() {
    const did = this.long.split(':').slice(0, 3).join(':');
    return Object.assign(Object.create(Holder.prototype), this, { did });
  }

  // keyIds are the names a sender encrypts to.
  get keyIds() {
    return this.senderDocument().keyAgreement;
  }

  // senderDocument is what a sender's library needs, from the DID alone.
  senderDocument() {
    return read(this.did, this.long);
  }

  // prove answers a challenge as its key's kind wants it.
  prove(challenge) {
    return { did: this.did, challenge, signature: signed(this.signing, challenge).toString('hex') };
  }

  // secrets are this holder's private keys in didcomm-node's form.
  secrets() {
    const privateKeyJwk = this.encrypting.export({ format: 'jwk' });
    return this.keyIds.map((id) => ({ id, type: 'JsonWebKey2020', privateKeyJwk }));
  }
}

function newKey(curve) {
  const ec = curve === 'P-256' || curve === 'secp256k1';
  return (ec ? generateKeyPairSync('ec', { namedCurve: names[curve] }) : generateKeyPairSync(names[curve])).privateKey;
}

// encryptionKey is a key of its own, save where the DID has room for one key only.
function encryptionKey(method, curve, signing) {
  if (method !== 'key' && method !== 'jwk') {
    return newKey('X25519');
  }
  if (curve !== 'Ed25519') {
    return signing;
  }
  const seed = Buffer.from(signing.export({ format: 'jwk' }).d, 'base64url');
  const d = Buffer.from(ed25519.utils.toMontgomerySecret(seed));
  const der = Buffer.concat([Buffer.from('302e020100300506032b656e04220420', 'hex'), d]);
  return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
}

function jwkOf(privateKey) {
  return createPublicKey(privateKey).export({ format: 'jwk' });
}

function signed(key, challenge) {
  const text = Buffer.from(challenge);
  const { crv } = jwkOf(key);
  if (crv === 'Ed25519') {
    return sign(null, text, key);
  }
  const signature = sign('sha256', text, { key, dsaEncoding: 'ieee-p1363' });
  const s = BigInt(`0x${signature.subarray(32).toString('hex')}`);
  if (crv !== 'secp256k1' || s <= secp256k1Order / 2n) {
    return signature;
  }
  return Buffer.concat([signature.subarray(0, 32), Buffer.from((secp256k1Order - s).toString(16).padStart(64, '0'), 'hex')]);
}

// write spells a DID from a signing and an encryption key.
const write = {
  key: (signing) => `did:key:${multikey(signing)}`,
  jwk: (signing) => `did:jwk:${Buffer.from(JSON.stringify(signing)).toString('base64url')}`,
  'peer:2': (signing, encrypting) => `did:peer:2.E${multikey(encrypting)}.V${multikey(signing)}.S${service}`,
  'peer:4': (signing, encrypting) => {
    const document = {
      verificationMethod: [
        { id: '#mail', type: 'JsonWebKey2020', publicKeyJwk: encrypting },
        { id: '#sign', type: 'Multikey', publicKeyMultibase: multikey(signing) },
      ],
      authentication: ['#sign'],
      keyAgreement: ['#mail'],
    };
    const written = `z${encode(Buffer.concat([Buffer.from('8004', 'hex'), Buffer.from(JSON.stringify(document))]))}`;
    const hash = createHash('sha256').update(written).digest();
    return `did:peer:4z${encode(Buffer.concat([Buffer.from('1220', 'hex'), hash]))}:${written}`;
  },
};

const service = Buffer.from('{"t":"dm","s":{"uri":"https://relay.example/didcomm","a":["didcomm/v2"]}}').toString('base64url');

// read makes of a DID the document that didcomm-node wants, with the keys that mail is
// encrypted to. text is the long form, if did is the short one.
function read(did, text) {
  const keys = {
    'did:key:': () => ({ [`#${agreementName(text.slice(8))}`]: agreement(text.slice(8)) }),
    'did:jwk:': () => ({ '#0': JSON.parse(Buffer.from(text.slice(8), 'base64url')) }),
    'did:peer:2': () => peer2Keys(text),
    'did:peer:4': () => peer4Keys(text),
  };
  const method = Object.keys(keys).find((prefix) => text.startsWith(prefix));
  const found = Object.entries(keys[method]());
  return {
    id: did,
    keyAgreement: found.map(([name]) => did + name),
    authentication: [],
    verificationMethod: found.map(([name, publicKeyJwk]) => ({ id: did + name, type: 'JsonWebKey2020', controller: did, publicKeyJwk })),
    service: [],
  };
}

// agreement is the key that mail is encrypted to in a did:key.
function agreement(text) {
  const jwk = jwkOfMultikey(text);
  return jwk.crv === 'Ed25519' ? { kty: 'OKP', crv: 'X25519', x: montgomery(jwk).toString('base64url') } : jwk;
}

function agreementName(text) {
  const jwk = jwkOfMultikey(text);
  return jwk.crv === 'Ed25519' ? multikey({ crv: 'X25519', x: montgomery(jwk).toString('base64url') }) : text;
}

function montgomery({ x }) {
  return Buffer.from(ed25519.utils.toMontgomery(Buffer.from(x, 'base64url')));
}

function peer2Keys(text) {
  const keys = text.split('.').slice(1).filter((element) => element[0] !== 'S');
  return Object.fromEntries(
    keys.flatMap((element, i) => (element[0] === 'E' ? [[`#key-${i + 1}`, jwkOfMultikey(element.slice(1))]] : [])),
  );
}

function peer4Keys(text) {
  const document = JSON.parse(decode(text.split(':')[3].slice(1)).subarray(2));
  const methods = document.verificationMethod.filter(({ id }) => document.keyAgreement.includes(id));
  return Object.fromEntries(methods.map(({ id, publicKeyJwk }) => [id, publicKeyJwk]));
}

// multikey writes a key as multibase base58btc of its multicodec and point.
function multikey({ crv, x, y }) {
  let point = Buffer.from(x, 'base64url');
  if (y) {
    point = Buffer.concat([Buffer.from([2 + (Buffer.from(y, 'base64url').at(-1) & 1)]), point]);
  }
  return `z${encode(Buffer.concat([Buffer.from(codecs[crv], 'hex'), point]))}`;
}

function jwkOfMultikey(text) {
  const bytes = decode(text.slice(1));
  const crv = Object.keys(codecs).find((name) => codecs[name] === bytes.subarray(0, 2).toString('hex'));
  const point = bytes.subarray(2);
  if (crv === 'Ed25519' || crv === 'X25519') {
    return { kty: 'OKP', crv, x: point.toString('base64url') };
  }
  const full = ECDH.convertKey(point, names[crv], null, null, 'uncompressed');
  return { kty: 'EC', crv, x: full.subarray(1, 33).toString('base64url'), y: full.subarray(33).toString('base64url') };
}

// encode and decode are base58 of bytes that do not begin with 0.
function encode(bytes) {
  let text = '';
  for (let number = BigInt(`0x${bytes.toString('hex')}`); number > 0n; number /= 58n) {
    text = alphabet[Number(number % 58n)] + text;
  }
  return text;
}

function decode(text) {
  let number = 0n;
  for (const digit of text) {
    number = number * 58n + BigInt(alphabet.indexOf(digit));
  }
  const hex = number.toString(16);
  return Buffer.from(hex.padStart(hex.length + (hex.length & 1), '0'), 'hex');
}
