/** What can be done with many failed jobs at once: with those that were ticked, or with all that fit. */
import type { QueueManager } from '../../application/queue-manager';
import { errorMessage } from '../../base/exception-text';
import { redact } from '../../base/redact';
import { formIncomplete } from '../errors';
import { choiceIn, choiceText, filterOf } from '../failed/failed-choice';
import { html, type Html } from '../html';
import { counted } from '../parts/number';
import type { Action, ActionContext } from './actions';
import type { Notice } from './notice';

/** Milliseconds until the viewer is answered while it goes on: a proxy in between would give up. */
const PATIENCE = 5000;

interface Place {
  readonly connection: string;
  readonly queue: string;
  readonly id: string;
}

export const retryFailed: Action = {
  async ask(form) {
    // Those that were ticked were seen one by one; of all that fit nobody knows how much work they are.
    if (tickedIn(form) !== undefined) return undefined;
    return {
      title: 'Retry these failed jobs?',
      text: html`${meantBy(form)}<p>They go back to their queues, with all their tries.</p>`,
      button: 'Retry them',
    };
  },
  run: (form, context) =>
    carriedOut(form, context, {
      one: ({ failed }, { id, ...place }) => failed.retry(id, place),
      all: ({ failed }) => failed.retry(filterOf(choiceIn(form)) ?? 'all'),
      told: (count) =>
        `${counted(count, 'failed job')} ${count === 1 ? 'goes back to its queue' : 'go back to their queues'}.`,
    }),
};

export const forgetFailed: Action = {
  async ask(form) {
    return {
      title: 'Forget these failed jobs?',
      text: html`${meantBy(form)}<p>They are removed with their data and their errors, and cannot be retried any more.</p>`,
      button: 'Forget them',
    };
  },
  run: (form, context) =>
    carriedOut(form, context, {
      one: ({ failed }, { id, ...place }) => failed.forget(id, place),
      all: ({ failed }) => {
        const filter = filterOf(choiceIn(form));
        return filter === undefined ? failed.flush() : failed.forget(filter);
      },
      told: (count) => `${counted(count, 'failed job')} ${count === 1 ? 'is' : 'are'} forgotten.`,
    }),
};

interface Deed {
  readonly one: (manager: QueueManager, place: Place) => Promise<boolean>;
  /** Gives of how many. */
  readonly all: (manager: QueueManager) => Promise<number>;
  readonly told: (count: number) => string;
}

async function carriedOut(
  form: URLSearchParams,
  { manager }: ActionContext,
  { one, all, told }: Deed,
): Promise<Notice> {
  const ticked = tickedIn(form);
  const work =
    ticked === undefined
      ? all(manager).then((count): Notice => ({ text: told(count) }))
      : eachOf(ticked, (place) => one(manager, place), told);
  let hasEnded = false;
  const answered = work.finally(() => (hasEnded = true));
  const late = new Promise<Notice>((resolve) => {
    const timer = manager.clock.after(PATIENCE, () =>
      resolve({ text: 'These are many: it goes on. The log of the dashboard says when it is done.' }),
    );
    void answered.then(
      () => timer.cancel(),
      () => timer.cancel(),
    );
  });
  const notice = await Promise.race([answered, late]);
  if (!hasEnded) tellLater(answered, manager);
  return notice;
}

function tellLater(work: Promise<Notice>, { logger }: QueueManager): void {
  work.then(
    ({ text }) => logger.info({}, `Dashboard: ${text}`),
    (error: unknown) => logger.error({ err: error }, `Dashboard: ${errorMessage(error)}`),
  );
}

/** One that cannot be reached keeps no other from its turn. */
async function eachOf(
  places: readonly Place[],
  act: (place: Place) => Promise<boolean>,
  told: Deed['told'],
): Promise<Notice> {
  let [done, gone] = [0, 0];
  const refused: string[] = [];
  for (const place of places) {
    try {
      if (await act(place)) done += 1;
      else gone += 1;
    } catch (error) {
      refused.push(redact(errorMessage(error)));
    }
  }
  const [first] = refused;
  const rest = [
    gone > 0 && ` ${counted(gone, 'job')} had gone before.`,
    first !== undefined && ` ${counted(refused.length, 'job')} could not be reached: ${first}`,
  ];
  return { text: `${told(done)}${rest.filter(Boolean).join('')}` };
}

/** Undefined: all that fit are meant. @throws E_DASHBOARD_FIELD nothing was ticked */
function tickedIn(form: URLSearchParams): readonly Place[] | undefined {
  if (form.get('all') === 'yes') return undefined;
  const ticked = form.getAll('job').flatMap((text) => placeIn(text) ?? []);
  if (ticked.length === 0) throw formIncomplete('job');
  return ticked;
}

function placeIn(text: string): Place | undefined {
  try {
    const [connection, queue, id] = JSON.parse(text) as readonly unknown[];
    const isPlace = typeof connection === 'string' && typeof queue === 'string' && typeof id === 'string';
    return isPlace ? { connection, queue, id } : undefined;
  } catch {
    return undefined;
  }
}

function meantBy(form: URLSearchParams): Html {
  const ticked = tickedIn(form);
  if (ticked !== undefined) return html`<p><strong>${counted(ticked.length, 'failed job')}</strong></p>`;
  const text = choiceText(choiceIn(form));
  return text === ''
    ? html`<p><strong>All failed jobs</strong> of all connections.</p>`
    : html`<p><strong>All failed jobs</strong> <bdi>${text}</bdi>, also those that are not shown.</p>`;
}
