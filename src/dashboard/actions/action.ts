/** An action: what it asks, what it does, what it says afterwards, and the fields of its form. */
import type { QueueManager } from '../../application/queue-manager';
import type { Viewer } from '../access/access';
import { formIncomplete } from '../errors';
import type { Html } from '../html';
import { CHOICES } from '../pages/failed';
import type { ActionButton } from '../parts/links';

export interface Action {
  /** Absent, or returning nothing: the action is done at once, because it can be undone or does no harm. */
  readonly ask?: (form: URLSearchParams, context: ActionContext) => Asked | Promise<Asked>;
  /** Does it, and says what was done. Errors are shown. */
  readonly run: (form: URLSearchParams, context: ActionContext) => Promise<Notice>;
}

type Asked = Question | undefined;

/** Asked before something is done that cannot be undone. */
export interface Question {
  readonly title: string;
  /** What will happen, and to what. */
  readonly text: Html;
  /** Fields of the form that the viewer fills in. */
  readonly fields?: Html | undefined;
  /** The label of the button that does it: `Forget 12 jobs`. */
  readonly button: string;
}

export interface ActionContext {
  readonly manager: QueueManager;
  readonly viewer: Viewer;
}

export interface Notice {
  readonly text: string;
  /** Where to see more of it. */
  readonly link?: { readonly address: string; readonly label: string } | undefined;
  readonly undo?: Undo | undefined;
}

/** What was done, for the next page to show. Kept in a cookie until then, so that any process can show it. */
export type Undo = Pick<ActionButton, 'action' | 'fields' | 'label'>;

/** @throws E_DASHBOARD_FIELD the field is missing */
export function fieldOf(form: URLSearchParams, name: string): string {
  const value = form.get(name);
  if (value === null || value === '') throw formIncomplete(name);
  return value;
}

/** The fields that say what an action does. No other is logged: one called `level` or `time` would replace the log's own. */
const TELLING: readonly string[] = [...CHOICES, 'id', 'for', 'when', 'all', 'job', 'lane', 'running'];

/** Logged values of one field, such as the jobs that were ticked. */
const MOST_LOGGED = 100;

/** The fields of a form for the log. */
export function loggedFields(form: URLSearchParams): Readonly<Record<string, string | readonly string[]>> {
  const given = TELLING.filter((field) => form.has(field));
  return Object.fromEntries(
    given.map((field) => {
      const [first = '', ...more] = form.getAll(field);
      return [field, more.length === 0 ? first : [first, ...more].slice(0, MOST_LOGGED)];
    }),
  );
}
