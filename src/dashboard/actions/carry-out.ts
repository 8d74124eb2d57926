/** Carries out an action, after asking if necessary, and logs who did it. */
import { errorMessage } from '../../base/exception-text';
import { OnqueueError } from '../../base/onqueue-error';
import { redact } from '../../base/redact';
import { isStoreAway } from '../../connections/errors';
import { ownAddress } from '../addresses';
import { barePage } from '../document';
import { html, type Html } from '../html';
import { unconfirmed } from '../errors';
import { type Answer, htmlAnswer, jsonAnswer, plainAnswer, redirect } from '../http/answer';
import { type DashboardRequest, isProgram } from '../http/request';
import { hiddenFields } from '../parts/action-form';
import type { Action, ActionContext, Question } from './actions';
import { loggedFields } from './form-fields';
import { leaveNotice, type Notice } from './notice';

export async function carryOut(
  name: string,
  action: Action,
  request: DashboardRequest,
  context: ActionContext,
): Promise<Answer> {
  const form = await request.form();
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
    if (isProgram(request)) return jsonAnswer(200, doneAs(notice));
    return redirect(back, leaveNotice(notice, request));
  } catch (error) {
    const told = error instanceof OnqueueError ? `${error.message} (${error.code})` : errorMessage(error);
    const notice: Notice = { text: redact(told) };
    log(name, form, context, `failed: ${notice.text}`);
    if (isProgram(request)) return failure(error);
    return redirect(back, leaveNotice(notice, request));
  }
}

/** What a notice says, for programs. */
function doneAs({ text, link, undo }: Notice): object {
  return { done: text, link: link?.address, undo: undo && { action: undo.action, fields: undo.fields } };
}

function failure(error: unknown): Answer {
  if (!(error instanceof OnqueueError)) return plainAnswer(500, redact(errorMessage(error)));
  return plainAnswer(isStoreAway(error) ? 503 : 422, redact(error.message), error.code);
}

function log(action: string, form: URLSearchParams, { manager, viewer }: ActionContext, told: string): void {
  const by = viewer.name ?? 'an operator';
  manager.logger.info({ ...loggedFields(form), action, by }, `Dashboard, ${by}: ${told}`);
}

/** The fields, except those that steer the form itself. */
function otherFields(form: URLSearchParams): readonly (readonly [string, string])[] {
  return [...form].filter(([name]) => name !== 'back' && name !== 'confirmed');
}

function questionPage(name: string, { title, text, button }: Question, form: URLSearchParams, back: string): Html {
  const fields = otherFields(form).map(([field, value]) => hiddenFields({ [field]: value }));
  return barePage(
    title,
    html`${text}
      <form method="post" action="${name}">
        ${fields}${hiddenFields({ back, confirmed: 'yes' })}
        <p class="choice"><button class="danger">${button}</button> <a href="${back}" autofocus>Go back</a></p>
      </form>`,
  );
}
