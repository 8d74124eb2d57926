/** Access within a program of the user's: the program decides who may come in, and the dashboard only asks. */
import { plainAnswer } from '../http/answer';
import { invalidRole } from '../errors';
import type { Access, Role } from './access';

/** The answer of `authorize` to a request: a role, or a role and a name. False: the request may not even look. */
export type Authorization = Role | { readonly role: Role; readonly name?: string | undefined } | false;

type Authorize = (request: never) => Authorization | Promise<Authorization>;

export const mountedAccess = (authorize: Authorize): Access => ({
  async admit({ subject }) {
    // JavaScript may return anything: an unexpected value must not let anybody in.
    const authorized: unknown = await authorize(subject as never);
    if (authorized === false || authorized === undefined || authorized === null)
      return plainAnswer(403, 'You may not see these jobs.');
    const { role, name } =
      typeof authorized === 'object' ? (authorized as { role?: unknown; name?: unknown }) : { role: authorized };
    if (role !== 'viewer' && role !== 'operator') throw invalidRole(role);
    return { role, name: typeof name === 'string' ? name : undefined, canSignOut: false };
  },
});
