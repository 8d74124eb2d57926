/** Who may look, and who may act. */
import type { Answer } from '../http/answer';
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
