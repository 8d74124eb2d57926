/** Who may look, and who may act. */
import type { Answer } from '../http/answer';
import type { DashboardRequest } from '../http/request';

/** `viewer` looks; `operator` also acts: retries, cancels, pauses. */
export type Role = 'viewer' | 'operator';

export interface Viewer {
  readonly role: Role;
  /** Who it is, for the log. Undefined: nobody said. */
  readonly name: string | undefined;
  /** They have signed in here, and can sign out. */
  readonly canSignOut: boolean;
  /** Asked of who watches a page: nothing more of it is sent. */
  readonly hasLeft?: () => boolean;
}

export interface Access {
  /** The viewer; or what is answered in place of any page, such as a form to sign in. */
  admit(request: DashboardRequest): Promise<Viewer | Answer>;
}

export function isAnswer(admitted: Viewer | Answer): admitted is Answer {
  return 'status' in admitted;
}
