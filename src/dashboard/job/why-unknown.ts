/** What has most likely become of a job of which nothing is known. */
import type { QueueManager } from '../../application/queue-manager';
import { html, type Html } from '../html';

/** Its last sentence goes on behind it. */
export function whyUnknown({ configuration: { history } }: QueueManager): Html {
  const completed = history === false ? undefined : history?.completed;
  const kept =
    completed === undefined
      ? html`completed jobs leave no trace, unless <code>history: { completed: '1h' }</code> of the configuration, which says nothing
          of it here, or <code>keepResult</code> of its class has them kept`
      : html`completed jobs are kept no longer than <code>history: { completed: ${JSON.stringify(completed)} }</code> of the
          configuration says`;
  return html`Most likely it has completed: ${kept}. Or it was cancelled while it waited, cleared or forgotten, or never sent here`;
}
