/** The tokens in the environment. Without one, only this machine is let in. */
import { tokenUnfit } from '../errors';
import { isLoopback } from './loopback';
import { Secret } from './secret';

export const TOKEN = 'ONQUEUE_DASHBOARD_TOKEN';
export const VIEWER_TOKEN = 'ONQUEUE_DASHBOARD_VIEWER_TOKEN';

/** In characters. Shorter tokens that people choose can be guessed. */
export const SHORTEST_TOKEN = 32;

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
