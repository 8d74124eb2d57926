/** Links to queues and jobs, and buttons: each is a form of its own, so that it works without scripts. */
import type { QueueSnapshot } from '../../operations/snapshot';
import { address } from '../addresses';
import { html, type Html, type Shown } from '../html';
import type { PageContext } from '../view';
import { moment } from './text';

export function queueLink({ connection, queue }: { readonly connection: string; readonly queue: string }): Html {
  return html`<a href="${address('queue', { connection, queue })}"><bdi>${queue}</bdi></a>`;
}

/** Names that stand for several classes, such as `(unknown)`, have no page. */
export function classLink({ connection, name }: { readonly connection?: string; readonly name: string }): Html {
  if (name.startsWith('(')) return html`<bdi>${name}</bdi>`;
  return html`<a href="${address('job-class', { name, connection })}"><bdi>${name}</bdi></a>`;
}

/** Which job is meant. Without an id, as in foreign payloads, it has no page. */
interface LinkedJob {
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

/** Buttons that change something: each is a form of its own, so that it works without scripts. */
export interface ActionButton {
  /** One of `ACTIONS`. */
  readonly action: string;
  readonly fields: Readonly<Record<string, string | undefined>>;
  readonly label: string;
  /** What it is about, for viewers who do not see where the button is: `mail`. */
  readonly subject?: string | undefined;
  /** It destroys something. */
  readonly isDangerous?: boolean | undefined;
}

/** Nothing for viewers who may only look. */
export function actionForm(
  button: ActionButton,
  { viewer, here }: Pick<PageContext, 'viewer' | 'here'>,
): Html | undefined {
  if (viewer.role !== 'operator') return undefined;
  const { action, fields, label, subject, isDangerous } = button;
  return html`<form method="post" action="${action}" class="action">${hiddenFields({ ...fields, back: here })}<button${isDangerous === true && html` class="danger"`}>${label}${subject !== undefined && html`<span class="unseen"> ${subject}</span>`}</button></form>`;
}

/** To retry and to forget. @param what one job, or all failed ones that match the fields @param which ends the labels: ` all` */
export function failureButtons(
  what: 'job' | 'failed',
  about: Pick<ActionButton, 'fields' | 'subject'>,
  context: PageContext,
  which = '',
): readonly (Html | undefined)[] {
  return [
    actionForm({ ...about, action: `retry-${what}`, label: `Retry${which}` }, context),
    actionForm({ ...about, action: `forget-${what}`, label: `Forget${which}`, isDangerous: true }, context),
  ];
}

/** The first of some buttons, and the others behind a mark that opens without scripts. */
export function actionMenu(buttons: readonly (Html | undefined | false)[], subject: string): Html | undefined {
  const [first, ...others] = buttons.filter((button) => button !== undefined && button !== false);
  if (first === undefined) return undefined;
  if (others.length === 0) return first;
  return html`${first}<details class="menu"><summary aria-label="More for ${subject}">⋯</summary>${others}</details>`;
}

/** Views of one page, or pages that belong together; the shown one is marked. */
export type Tab = readonly [label: Shown, address: string, isShown: boolean];

export function tabs(label: string, all: readonly Tab[], kind: 'tabs' | 'ranges' = 'tabs'): Html {
  const tab = ([text, to, isShown]: Tab): Html =>
    html`<a href="${to}"${isShown && html` aria-current="true"`}>${text}</a>`;
  return html`<nav class="${kind}" aria-label="${label}">${all.map(tab)}</nav>`;
}

/** Below a part of a list. @param first where the list begins, if this is not its first part @param next undefined: this is its end */
export function pageLinks(first: string | undefined, next: string | undefined, label = 'Next page'): Html | undefined {
  if (first === undefined && next === undefined) return undefined;
  return html`<p class="pages">${first && html`<a href="${first}">First page</a>`} ${next && html`<a href="${next}" rel="next">${label}</a>`}</p>`;
}

export function hiddenFields(fields: Readonly<Record<string, string | undefined>>): readonly Html[] {
  return Object.entries(fields).flatMap(([name, value]) =>
    value === undefined ? [] : [html`<input type="hidden" name="${name}" value="${value}" />`],
  );
}

/** The mark of a paused queue. */
export function pausedBadge({ pausedUntil }: QueueSnapshot, { now }: PageContext): Html {
  return html`<span class="badge warn">paused${pausedUntil && html`, resumes ${moment(pausedUntil, now)}`}</span>`;
}
