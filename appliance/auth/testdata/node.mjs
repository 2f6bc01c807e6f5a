// Makes node.json: signatures by Node's own crypto (OpenSSL), which shares no
// code with ours. Run: node node.mjs > node.json
import { generateKeyPairSync, randomBytes, sign } from 'node:crypto'

const n = BigInt('0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141')
const hex = (x) => x.toString(16).padStart(64, '0')

const vectors = []
for (let i = 0; i < 8; i++) {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'secp256k1' })
  const challenge = randomBytes(32).toString('base64url')
  const rs = sign('sha256', Buffer.from(challenge), { key: privateKey, dsaEncoding: 'ieee-p1363' })
  const r = BigInt('0x' + rs.subarray(0, 32).toString('hex'))
  const s = BigInt('0x' + rs.subarray(32).toString('hex'))
  const [low, high] = s <= n / 2n ? [s, n - s] : [n - s, s]
  vectors.push({
    publicKeyJwk: publicKey.export({ format: 'jwk' }),
    challenge,
    low: hex(r) + hex(low),
    high: hex(r) + hex(high),
  })
}
console.log(JSON.stringify(vectors, null, 1))
