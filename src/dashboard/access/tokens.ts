/** The tokens of the environment: without one, nobody beyond this machine is let in. */
import { tokenUnfit } from '../errors';
import { isLoopback } from './loopback';
import { Secret } from './secret';

export const TOKEN = 'ONQUEUE_DASHBOARD_TOKEN';
export const VIEWER_TOKEN = 'ONQUEUE_DASHBOARD_VIEWER_TOKEN';

/** Characters: what people choose that is shorter can be guessed. */
export const SHORTEST_TOKEN = 32;

export interface Tokens {
  /** Signs in who may act. */
  readonly operator: Secret | undefined;
  /** Signs in who may look. */
  readonly viewer: Secret | undefined;
}

/** @param host that the dashboard is heard on @throws E_DASHBOARD_TOKEN */
export function tokensIn(environment: Readonly<NodeJS.ProcessEnv>, host: string): Tokens {
  const [operator, viewer] = [TOKEN, VIEWER_TOKEN].map((variable) => {
    const token = environment[variable]?.trim() ?? '';
    if (token !== '' && token.length < SHORTEST_TOKEN)
      throw tokenUnfit(variable, `has ${token.length} characters, and fewer than ${SHORTEST_TOKEN} can be guessed`);
    return token === '' ? undefined : token;
  });
  if (operator === undefined && !isLoopback(host))
    throw tokenUnfit(TOKEN, `is not set, and on ${host} others than this machine reach the dashboard`);
  if (operator !== undefined && operator === viewer)
    throw tokenUnfit(VIEWER_TOKEN, `is the same as ${TOKEN}, so that viewers could act`);
  return { operator: secretOf(operator), viewer: secretOf(viewer) };
}

function secretOf(token: string | undefined): Secret | undefined {
  return token === undefined ? undefined : new Secret(token);
}
