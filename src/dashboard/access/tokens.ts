/** The tokens in the environment, and other secrets. Without a token, only this machine is let in. */
import { createHash, timingSafeEqual } from 'node:crypto';
import { isIPv4 } from 'node:net';
import { tokenUnfit } from '../errors';

const TOKEN = 'ONQUEUE_DASHBOARD_TOKEN';
const VIEWER_TOKEN = 'ONQUEUE_DASHBOARD_VIEWER_TOKEN';

/** In characters. Shorter tokens that people choose can be guessed. */
const SHORTEST_TOKEN = 32;

export interface Tokens {
  /** Lets people act. */
  readonly operator: Secret | undefined;
  /** Lets people look. */
  readonly viewer: Secret | undefined;
}

/** @param host the address that the dashboard listens on @throws E_DASHBOARD_TOKEN */
export function tokensIn(environment: Readonly<NodeJS.ProcessEnv>, host: string): Tokens {
  const [operator, viewer] = [TOKEN, VIEWER_TOKEN].map((variable) => {
    const token = environment[variable]?.trim() ?? '';
    if (token !== '' && token.length < SHORTEST_TOKEN)
      throw tokenUnfit(variable, `has ${token.length} characters, but fewer than ${SHORTEST_TOKEN} can be guessed`);
    return token === '' ? undefined : token;
  });
  if (operator === undefined && !isLoopback(host))
    throw tokenUnfit(TOKEN, `is not set, but on ${host} other machines can reach the dashboard`);
  if (operator !== undefined && operator === viewer)
    throw tokenUnfit(VIEWER_TOKEN, `is the same as ${TOKEN}, so that viewers could act`);
  return { operator: secretOf(operator), viewer: secretOf(viewer) };
}

function secretOf(token: string | undefined): Secret | undefined {
  return token === undefined ? undefined : new Secret(token);
}

/** A text that grants access. It is not stored itself, and comparing takes the same time however much of a guess is right. */
export class Secret {
  readonly #digest: Buffer;

  constructor(text: string) {
    this.#digest = digestOf(text);
  }

  matches(text: string): boolean {
    return timingSafeEqual(this.#digest, digestOf(text));
  }
}

/** A key under which something is stored that only whoever knows the text may find. */
export function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** @param host the address that a server listens on */
function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));
}

/**
 * Whether a `Host` header names this machine, and not a host of another site that points here. A tunnel may come from any port.
 */
export function namesLoopback(header: string): boolean {
  const [, name = ''] = /^(.*?)(?::\d+)?$/.exec(header) ?? [];
  return isLoopback(name.replace(/^\[(.*)\]$/, '$1').toLowerCase());
}
