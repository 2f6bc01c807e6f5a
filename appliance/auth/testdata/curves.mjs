// Makes curves.json: signatures by Node's own crypto (OpenSSL) on the curves beside
// secp256k1, in the two forms that each has: of ECDSA the two s, of EdDSA S and S plus
// the order, which holds for whoever does not look. Run: node curves.mjs > curves.json
import { generateKeyPairSync, randomBytes, sign } from 'node:crypto'

const p256 = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n
const ed25519 = 2n ** 252n + 27742317777372353535851937790883648493n

const big = (bytes) => BigInt('0x' + Buffer.from(bytes).toString('hex'))
const hex = (x) => x.toString(16).padStart(64, '0')
const little = (x) => Buffer.from(hex(x), 'hex').reverse().toString('hex')

function es256(text) {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
  const rs = sign('sha256', text, { key: privateKey, dsaEncoding: 'ieee-p1363' })
  const [r, s] = [rs.subarray(0, 32).toString('hex'), big(rs.subarray(32))]
  const [low, high] = s <= p256 / 2n ? [s, p256 - s] : [p256 - s, s]
  return { publicKey, signature: r + hex(low), other: r + hex(high) }
}

function eddsa(text) {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const rs = sign(null, text, privateKey)
  const s = big(Buffer.from(rs.subarray(32)).reverse())
  return { publicKey, signature: rs.toString('hex'), other: rs.subarray(0, 32).toString('hex') + little(s + ed25519) }
}

const vectors = []
for (const make of [es256, es256, es256, es256, eddsa, eddsa, eddsa, eddsa]) {
  const challenge = randomBytes(32).toString('base64url')
  const { publicKey, ...signatures } = make(Buffer.from(challenge))
  vectors.push({ publicKeyJwk: publicKey.export({ format: 'jwk' }), challenge, ...signatures })
}
console.log(JSON.stringify(vectors, null, 1))
