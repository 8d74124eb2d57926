/** What operators can do: carries out an action, after asking if necessary, logs who did it, and leaves a notice of it. */
import { errorMessage } from '../../base/exception-text';
import { OnqueueError } from '../../base/onqueue-error';
import { redact } from '../../base/redact';
import { isStoreAway } from '../../connections/errors';
import { isOwnAddress, ownAddress } from '../addresses';
import { barePage } from '../document';
import { formTooLarge, unconfirmed } from '../errors';
import { html, type Html } from '../html';
import { type Answer, htmlAnswer, jsonAnswer, plainAnswer, redirect } from '../http/answer';
import { cookieAttributes, cookiesNamed, type DashboardRequest, isProgram } from '../http/request';
import { hiddenFields } from '../parts/links';
import { type Action, type ActionContext, loggedFields, type Notice, type Question, type Undo } from './action';
import { BATCH_ACTIONS } from './batch-actions';
import { JOB_ACTIONS } from './job-actions';
import { QUEUE_ACTIONS } from './queue-actions';

export const ACTIONS: Readonly<Record<string, Action>> = { ...JOB_ACTIONS, ...BATCH_ACTIONS, ...QUEUE_ACTIONS };

/** A page has a hundred boxes to tick. Each ticked job is looked for by itself, and is a field of the page that asks. */
const MOST_FIELDS = 1000;

/** Carries out an action, after asking if necessary, and logs who did it. @throws E_DASHBOARD_FORM_SIZE */
export async function carryOut(
  name: string,
  action: Action,
  request: DashboardRequest,
  context: ActionContext,
): Promise<Answer> {
  const form = await request.form();
  if (form.size > MOST_FIELDS) throw formTooLarge(MOST_FIELDS, 'fields');
  const back = ownAddress(form.get('back'));
  try {
    const question = form.get('confirmed') === 'yes' ? undefined : await action.ask?.(form, context);
    if (question !== undefined) {
      if (!isProgram(request)) return htmlAnswer(200, questionPage(name, question, form, back));
      const { message, code } = unconfirmed(name, question.title);
      return plainAnswer(409, message, code);
    }
    const notice = await action.run(form, context);
    log(name, form, context, notice.text);
    const { text, link, undo } = notice;
    if (isProgram(request))
      return jsonAnswer(200, {
        done: text,
        link: link?.address,
        undo: undo && { action: undo.action, fields: undo.fields },
      });
    return redirect(`${back}${anchorIn(form)}`, leaveNotice(notice, request));
  } catch (error) {
    const told = error instanceof OnqueueError ? `${error.message} (${error.code})` : errorMessage(error);
    const notice: Notice = { text: redact(told) };
    log(name, form, context, `failed: ${notice.text}`);
    if (isProgram(request)) return failure(error);
    return redirect(`${back}${anchorIn(form)}`, leaveNotice(notice, request));
  }
}

/** The row that was acted on, as its form says. */
function anchorIn(form: URLSearchParams): string {
  const row = form.get('row') ?? '';
  return /^row-[\w-]{8}$/.test(row) ? `#${row}` : '';
}

function failure(error: unknown): Answer {
  if (!(error instanceof OnqueueError)) return plainAnswer(500, redact(errorMessage(error)));
  return plainAnswer(isStoreAway(error) ? 503 : 422, redact(error.message), error.code);
}

function log(action: string, form: URLSearchParams, { manager, viewer }: ActionContext, told: string): void {
  const by = viewer.name ?? 'an operator';
  manager.logger.info({ ...loggedFields(form), action, by }, `Dashboard, ${by}: ${told}`);
}

function questionPage(
  name: string,
  { title, text, fields: asked, button }: Question,
  form: URLSearchParams,
  back: string,
): Html {
  // Except those that steer the form itself.
  const given = [...form].filter(([field]) => field !== 'back' && field !== 'confirmed');
  const fields = given.map(([field, value]) => hiddenFields({ [field]: value }));
  return barePage(
    title,
    html`${text}
      <form method="post" action="${name}">
        ${fields}${hiddenFields({ back, confirmed: 'yes' })}${asked}
        <p class="choice"><button class="danger">${button}</button> <a href="${back}${anchorIn(form)}" autofocus>Go back</a></p>
      </form>`,
  );
}

const COOKIE = 'onqueue-notice';
/** In characters: browsers keep cookies of 4096 bytes. */
const LONGEST = 600;
/** Seconds that it is kept until it is shown. */
const KEPT = 60;

/** Headers that make the next page show it. */
function leaveNotice(
  { text: given, undo, link }: Notice,
  { isSecure }: DashboardRequest,
): Readonly<Record<string, string>> {
  // A name in it with characters that change the direction of writing would affect all that follows.
  const text = given.replace(/[\u202A-\u202E\u2066-\u2069]/g, '');
  const value = encodeURIComponent(JSON.stringify({ text: text.slice(0, LONGEST).toWellFormed(), undo, link }));
  const told =
    value.length > 3500 ? encodeURIComponent(JSON.stringify({ text: text.slice(0, 200).toWellFormed() })) : value;
  return { 'set-cookie': `${COOKIE}=${told}; Max-Age=${KEPT}${cookieAttributes(isSecure)}` };
}

/** The notice that was left, and headers that remove it. */
export function takeNotice({ headers, isSecure }: DashboardRequest): {
  readonly notice: Notice | undefined;
  readonly headers: Readonly<Record<string, string>>;
} {
  const [value] = cookiesNamed(headers('cookie') ?? '', COOKIE);
  if (value === undefined) return { notice: undefined, headers: {} };
  return {
    notice: readNotice(value),
    headers: { 'set-cookie': `${COOKIE}=; Max-Age=0${cookieAttributes(isSecure)}` },
  };
}

/** A browser may send anything: whatever is not a notice is ignored. */
function readNotice(value: string): Notice | undefined {
  try {
    const { text, undo, link } = JSON.parse(decodeURIComponent(value)) as Partial<Notice>;
    if (typeof text !== 'string') return undefined;
    return { text, undo: isUndo(undo) ? undo : undefined, link: isLink(link) ? link : undefined };
  } catch {
    return undefined;
  }
}

function isLink(link: Partial<NonNullable<Notice['link']>> | undefined): link is NonNullable<Notice['link']> {
  return typeof link?.label === 'string' && typeof link.address === 'string' && isOwnAddress(link.address);
}

/** Whoever can set a cookie here must not trick a viewer, by a button, into an action that would be confirmed. */
function isUndo(undo: Partial<Undo> | undefined): undo is Undo {
  return (
    typeof undo === 'object' &&
    undo !== null &&
    typeof undo.label === 'string' &&
    typeof undo.action === 'string' &&
    Object.hasOwn(ACTIONS, undo.action) &&
    ACTIONS[undo.action]?.ask === undefined &&
    typeof undo.fields === 'object' &&
    Object.values(undo.fields ?? {}).every((field) => typeof field === 'string')
  );
}
