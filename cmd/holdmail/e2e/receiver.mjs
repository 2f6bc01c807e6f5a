// A program on the home computer, as a stranger would write one: it checks who
// signed a request, writes it down, and answers. What it wrote down before it is
// killed is still there when it starts again.
//
// A request may carry the test's wishes: Test-Clock, when it is to be taken to have
// arrived (Unix seconds); Test-Status, the status to answer with; Test-Hold, to get
// no answer at all the first time.

import { createHash } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { schemeOf, schemes } from './schemes.mjs';

const { PORT, JOURNAL } = process.env;
const seen = new Set(existsSync(JOURNAL) ? entries(JOURNAL).map((entry) => entry.id) : []);

createServer(async (request, response) => {
  const body = await buffer(request);
  const entry = await judged(request, body);
  const again = seen.has(entry.id);
  seen.add(entry.id);
  appendFileSync(JOURNAL, `${JSON.stringify(entry)}\n`);
  // The work is done. Whatever is killed from here on, a repeat must be harmless.
  if ('test-hold' in request.headers && !again) {
    return;
  }
  const { status, type, text } = answerTo(request, entry);
  response.writeHead(status, { 'content-type': type }).end(text);
}).listen(Number(PORT), '127.0.0.1');

// judged is what is written down of a request.
async function judged({ method, url, rawHeaders, headers }, body) {
  const scheme = schemeOf(headers);
  return {
    id: headers['holdmail-delivery-id'],
    repeat: headers['holdmail-repeat'] ?? '',
    waitedFrom: headers['holdmail-received-at'] ?? '',
    originalURL: headers['holdmail-original-url'] ?? '',
    number: headers['test-number'] ?? '',
    held: 'test-hold' in headers,
    method,
    url,
    headers: pairs(rawHeaders),
    size: body.length,
    sha256: createHash('sha256').update(body).digest('hex'),
    scheme: scheme ?? '',
    trusted: scheme !== undefined && (await trusted(scheme, headers, body)),
  };
}

async function trusted(scheme, headers, body) {
  const arrived = headers['holdmail-received-at'];
  const at = Number(headers['test-clock'] ?? (arrived ? Date.parse(arrived) : Date.now()) / 1000);
  try {
    return await schemes[scheme].trusts({ at, url: headers['holdmail-original-url'], headers, body });
  } catch {
    return false;
  }
}

function answerTo({ method, url, headers }, { id, scheme, trusted }) {
  const echo = new URL(url, 'http://home').searchParams.get('echostr');
  if (method === 'GET' && echo !== null) {
    return { status: 200, type: 'text/plain', text: echo };
  }
  if (scheme && !trusted) {
    return { status: 401, type: 'text/plain', text: 'who are you?' };
  }
  if (scheme === 'twilio') {
    return { status: 200, type: 'text/xml', text: `<Response><Message>${id}</Message></Response>` };
  }
  return { status: Number(headers['test-status'] ?? 200), type: 'application/json', text: JSON.stringify({ handled: id }) };
}

function pairs(flat) {
  return flat.flatMap((name, i) => (i % 2 === 0 ? [[name, flat[i + 1]]] : []));
}

// entries reads a journal. A line that a kill cut off is no entry.
function entries(path) {
  return readFileSync(path, 'utf8').split('\n').slice(0, -1).map((line) => JSON.parse(line));
}
