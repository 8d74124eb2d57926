/** Links to the pages of queues and jobs. */
import { address } from '../addresses';
import { html, type Html, type Shown } from '../html';

export function queueLink({ connection, queue }: { readonly connection: string; readonly queue: string }): Html {
  return html`<a href="${address('queue', { connection, queue })}"><bdi>${queue}</bdi></a>`;
}

/** Which job is meant. Without an id, as in foreign payloads, it has no page. */
export interface LinkedJob {
  readonly connection: string;
  readonly queue?: string | undefined;
  readonly id: string | undefined;
  readonly name: string | undefined;
}

/** @param shown default: its name */
export function jobLink({ connection, queue, id, name }: LinkedJob, shown: Shown = html`<bdi>${name}</bdi>`): Html {
  if (id === undefined) return html`${shown}`;
  return html`<a href="${address('job', { connection, queue, id })}">${shown}</a>`;
}
