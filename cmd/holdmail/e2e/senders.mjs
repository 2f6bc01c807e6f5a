// Senders of webhooks that sign as their libraries do and, like good senders, try
// again until they hear a 2xx. It reads its task from standard input and reports
// each message in a line of its own:
//
//   {"number", "scheme", "status", "answer", "refused", "cut"}
//
// refused counts the tries that were told to come back later, cut the ones whose
// answer never came: those may or may not have been kept.

import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { schemes } from './schemes.mjs';

// to: where to send; public: what the world calls that place; hooks: name -> path.
// Messages from first up to end, senders of which are on their way at a time, each
// sender taking a rest of some milliseconds after each; every hold-th message asks for
// no answer the first time.
const task = JSON.parse(await text(process.stdin));
const names = Object.keys(schemes);
const began = Math.floor(Date.now() / 1000);

// forms are the bodies of those who send no JSON.
const forms = {
  twilio: (number) => ({ MessageSid: `SM${number}`, From: '+14158675309', To: '+18005551212', Body: `grüße & küsse ${number}` }),
  slack: (number) => ({ command: '/weather', text: `in zürich ${number}`, trigger_id: String(number) }),
};

class Refused extends Error {}

let next = task.first;
await Promise.all(Array.from({ length: task.senders }, sendSome));

async function sendSome() {
  while (next < task.end) {
    const number = next++;
    const scheme = names[number % names.length];
    const message = await compose(number, scheme);
    console.log(JSON.stringify({ number, scheme, ...(await send(message)) }));
    await pause(task.rest);
  }
}

async function compose(number, scheme) {
  const path = task.hooks[scheme];
  const form = forms[scheme]?.(number);
  const body = form ? new URLSearchParams(form).toString() : JSON.stringify({ id: `evt_${number}`, text: 'grüße '.repeat(number % 50) });
  const headers = {
    'content-type': form ? 'application/x-www-form-urlencoded' : 'application/json',
    'test-number': String(number),
    ...(await schemes[scheme].sign({ id: `msg_${number}`, at: began, url: task.public + path, body })),
  };
  if (task.hold && number % task.hold === task.hold - 1) {
    headers['test-hold'] = 'yes';
  }
  return { path, headers, body };
}

// send tries until a 2xx, and says how that went.
async function send({ path, headers, body }) {
  const tries = { refused: 0, cut: 0 };
  for (;;) {
    try {
      const response = await fetch(task.to + path, { method: 'POST', headers, body });
      const answer = await response.text();
      if (response.ok) {
        return { status: response.status, answer, ...tries };
      }
      if (response.status !== 429 && response.status !== 503) {
        throw new Refused(`${path}: ${response.status} ${answer}`);
      }
      tries.refused++;
    } catch (err) {
      if (err instanceof Refused) {
        throw err;
      }
      tries.cut++;
    }
    await pause(50);
  }
}
