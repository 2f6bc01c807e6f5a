// How senders sign: by their own libraries where npm has one, else by the words
// of their manuals. The secrets are those of the examples they publish; Stripe
// publishes none.

import { createHmac, timingSafeEqual } from 'node:crypto';
import { sign as signGitHub, verify as verifyGitHub } from '@octokit/webhooks-methods';
import { Webhook } from 'standardwebhooks';
import Stripe from 'stripe';
import twilio from 'twilio';

const stripe = new Stripe('sk_test_unused');
const fiveMinutes = 300;

// schemes, by name. sign returns the headers for a message {id, at, url, type,
// body}, at in Unix seconds and body a string. trusts looks at a request {at, url,
// headers, body}, at being when it arrived and body a Buffer; it answers false, or
// throws, for one that is not to be trusted.
export const schemes = {
  standard: {
    secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    mark: 'webhook-signature',
    sign({ id, at, body }) {
      const signature = new Webhook(this.secret).sign(id, new Date(at * 1000), body);
      return { 'webhook-id': id, 'webhook-timestamp': String(at), 'webhook-signature': signature };
    },
    trusts({ at, headers, body }) {
      atTime(at, () => new Webhook(this.secret).verify(body, headers));
      return true;
    },
  },
  github: {
    secret: "It's a Secret to Everybody",
    mark: 'x-hub-signature-256',
    async sign({ id, body }) {
      return { 'x-github-event': 'push', 'x-github-delivery': id, 'x-hub-signature-256': await signGitHub(this.secret, body) };
    },
    trusts({ headers, body }) {
      return verifyGitHub(this.secret, body.toString(), headers['x-hub-signature-256']);
    },
  },
  stripe: {
    secret: 'whsec_holdmail',
    mark: 'stripe-signature',
    sign({ at, body }) {
      return { 'stripe-signature': stripe.webhooks.generateTestHeaderString({ payload: body, secret: this.secret, timestamp: at }) };
    },
    trusts({ at, headers, body }) {
      stripe.webhooks.constructEvent(body, headers['stripe-signature'], this.secret, fiveMinutes, undefined, at * 1000);
      return true;
    },
  },
  twilio: {
    secret: '12345',
    mark: 'x-twilio-signature',
    sign({ url, body }) {
      return { 'x-twilio-signature': twilio.getExpectedTwilioSignature(this.secret, url, form(body)) };
    },
    trusts({ url, headers, body }) {
      return twilio.validateRequest(this.secret, headers['x-twilio-signature'], url, form(body));
    },
  },
  slack: {
    secret: '8f742231b10e8888abcd99yyyzzz85a5',
    mark: 'x-slack-signature',
    sign({ at, body }) {
      const signature = `v0=${hmac(this.secret, `v0:${at}:`, body).toString('hex')}`;
      return { 'x-slack-request-timestamp': String(at), 'x-slack-signature': signature };
    },
    trusts({ at, headers, body }) {
      const signedAt = Number(headers['x-slack-request-timestamp']);
      return Math.abs(at - signedAt) <= fiveMinutes && same(headers['x-slack-signature'], this.sign({ at: signedAt, body })['x-slack-signature']);
    },
  },
  line: {
    secret: 'test_secret',
    mark: 'x-line-signature',
    sign({ body }) {
      return { 'x-line-signature': hmac(this.secret, body).toString('base64') };
    },
    trusts({ headers, body }) {
      return same(headers['x-line-signature'], this.sign({ body })['x-line-signature']);
    },
  },
};

// schemeOf is the name of the scheme that signed a request, or undefined.
export function schemeOf(headers) {
  return Object.keys(schemes).find((name) => schemes[name].mark in headers);
}

function form(body) {
  return Object.fromEntries(new URLSearchParams(body.toString()));
}

function hmac(secret, ...parts) {
  return parts.reduce((mac, part) => mac.update(part), createHmac('sha256', secret)).digest();
}

function same(a, b) {
  return a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));
}

// atTime runs work, which must not wait, as if it were at, in Unix seconds: for a
// library that takes no time but the clock's.
function atTime(at, work) {
  const { now } = Date;
  Date.now = () => at * 1000;
  try {
    work();
  } finally {
    Date.now = now;
  }
}
