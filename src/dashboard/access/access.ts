/** Who may look, and who may act. Within a program of the user's, the program decides, and the dashboard only asks. */
import { invalidRole } from '../errors';
import { type Answer, plainAnswer } from '../http/answer';
import type { DashboardRequest } from '../http/request';

/** `viewer` looks; `operator` also acts: retries, cancels, pauses. */
export type Role = 'viewer' | 'operator';

export interface Viewer {
  readonly role: Role;
  /** Who it is, for the log. Undefined if nobody said. */
  readonly name: string | undefined;
  /** Whether they signed in here and can sign out. */
  readonly canSignOut: boolean;
  /** Asked for viewers that watch a page. If true, they are sent nothing more. */
  readonly hasLeft?: () => boolean;
}

export interface Access {
  /** The viewer; or an answer that replaces the page, such as a sign-in form. */
  admit(request: DashboardRequest): Promise<Viewer | Answer>;
}

export function isAnswer(admitted: Viewer | Answer): admitted is Answer {
  return 'status' in admitted;
}

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
