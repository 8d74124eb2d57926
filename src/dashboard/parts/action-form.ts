/** Buttons that change something: each is a form of its own, so that it works without scripts. */
import { html, type Html } from '../html';
import type { PageContext } from '../view';

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

/**
 * The buttons to retry and to forget.
 *
 * @param what one job, or all failed ones that match the fields
 * @param which ends the labels: ` all`
 */
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

export function hiddenFields(fields: Readonly<Record<string, string | undefined>>): readonly Html[] {
  return Object.entries(fields).flatMap(([name, value]) =>
    value === undefined ? [] : [html`<input type="hidden" name="${name}" value="${value}" />`],
  );
}
