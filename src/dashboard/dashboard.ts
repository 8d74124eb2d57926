/** The dashboard as a handler of requests, to be mounted in a program of the user's. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { defaultManager } from '../application/default-manager';
import type { QueueManager } from '../application/queue-manager';
import { type Authorization, MountedAccess } from './access/mounted-access';
import { authorizeMissing } from './errors';
import { requestOf, sendAnswer } from './http/node-handler';
import { Site } from './site';

export interface DashboardOptions<Incoming = IncomingMessage> {
  /**
   * Who comes in: `'viewer'` looks, `'operator'` also retries, cancels and pauses; `{ role, name }` has actions logged with who it was.
   * False: nobody. It is asked for each request.
   */
  readonly authorize: (request: Incoming) => Authorization | Promise<Authorization>;
  /** Default: the one behind `Queue`. */
  readonly manager?: QueueManager | undefined;
}

export interface Dashboard<Incoming = IncomingMessage> {
  (request: Incoming, response: ServerResponse, next?: (error?: unknown) => void): void;
  /** Ends what viewers still listen to. The connections stay as they are. */
  close(): void;
}

/** @throws E_DASHBOARD_AUTHORIZE */
export function dashboard<Incoming extends IncomingMessage = IncomingMessage>(
  options: DashboardOptions<Incoming>,
): Dashboard<Incoming> {
  const { authorize, manager } = (options as Partial<typeof options> | undefined) ?? {};
  if (typeof authorize !== 'function') throw authorizeMissing(authorize);
  const site = new Site(() => manager ?? defaultManager(), new MountedAccess(authorize));
  const handle = (request: Incoming, response: ServerResponse): void => {
    void site.answer(requestOf(request)).then((answer) => sendAnswer(answer, request, response));
  };
  return Object.assign(handle, { close: () => site.close() });
}
