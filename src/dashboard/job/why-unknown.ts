/** What most likely happened to a job of which nothing is known. */
import type { QueueManager } from '../../application/queue-manager';
import { html, type Html } from '../html';

/** Ends without a full stop, so that the sentence can go on. */
export function whyUnknown({ configuration: { history } }: QueueManager): Html {
  const completed = history === false ? undefined : history?.completed;
  const kept =
    completed === undefined
      ? html`completed jobs leave no trace, unless they are kept by <code>history: { completed: '1h' }</code> in the configuration, which
          is not set here, or by <code>keepResult</code> of their class`
      : html`completed jobs are only kept as long as <code>history: { completed: ${JSON.stringify(completed)} }</code> in the
          configuration says`;
  return html`Most likely it has completed: ${kept}. Or it was cancelled while it waited, cleared, forgotten, or never sent here`;
}
