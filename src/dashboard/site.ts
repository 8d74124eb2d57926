/** Answers requests: admits the viewer, finds the page or the action, and puts the page into its frame. */
import type { QueueManager } from '../application/queue-manager';
import { errorMessage, errorRecord, toError } from '../base/exception-text';
import { OnqueueError } from '../base/onqueue-error';
import { redact } from '../base/redact';
import { isStoreAway } from '../connections/errors';
import { inHaste } from '../connections/kit/haste';
import { type Access, isAnswer, type Viewer } from './access/access';
import { ACTIONS, carryOut, takeNotice } from './actions/actions';
import { address, nameIn } from './addresses';
import { assetNamed, barePage } from './document';
import { formCut, formTooLarge, unanswered } from './errors';
import { frame } from './frame';
import { html } from './html';
import { type Answer, forProgram, htmlAnswer, jsonAnswer, plainAnswer, redirect, withHeaders } from './http/answer';
import { type DashboardRequest, isProgram, refusalOf } from './http/request';
import { Live } from './live';
import { PAGES, STILL } from './pages/pages';
import { Lookout } from './readings';
import type { Page, PageContext, View } from './view';

export class Site {
  readonly #manager: () => QueueManager;
  readonly #access: Access;
  #live: Live | undefined;
  #lookout: Lookout | undefined;

  constructor(manager: () => QueueManager, access: Access) {
    this.#manager = manager;
    this.#access = access;
  }

  /** Never rejects. */
  async answer(request: DashboardRequest): Promise<Answer> {
    const answer = await this.#answerAnyway(request);
    if (isProgram(request)) return forProgram(answer);
    return answer.trouble !== undefined && request.headers('accept')?.includes('text/html') === true
      ? troublePage(answer, answer.trouble)
      : answer;
  }

  async #answerAnyway(request: DashboardRequest): Promise<Answer> {
    try {
      return await this.#answer(request);
    } catch (error) {
      if (!(error instanceof OnqueueError)) return this.#unanswered(error);
      const status = formTooLarge.is(error) ? 413 : formCut.is(error) ? 400 : 500;
      return plainAnswer(status, redact(error.message), error.code);
    }
  }

  #unanswered(error: unknown): Answer {
    this.#manager().logger.error(
      { err: errorRecord(toError(error)) },
      `The dashboard could not answer: ${errorMessage(error)}`,
    );
    return plainAnswer(500, 'The dashboard could not answer; the log of its process says why.');
  }

  /** Nobody has been let in yet, so errors, which may tell something about the viewer or the program, are not shown. */
  async #admitted(request: DashboardRequest): Promise<Viewer | Answer> {
    try {
      return await this.#access.admit(request);
    } catch (error) {
      if (formTooLarge.is(error) || formCut.is(error)) throw error;
      return this.#unanswered(error);
    }
  }

  close(): void {
    this.#live?.close();
  }

  async #answer(request: DashboardRequest): Promise<Answer> {
    const { method, url } = request;
    const name = nameIn(url);
    const isRead = method === 'GET' || method === 'HEAD';
    const asset = isRead ? assetNamed(name) : undefined;
    // Assets say nothing about jobs, and the sign-in form needs them.
    if (asset !== undefined) return asset;
    const admitted = await this.#admitted(request);
    if (isAnswer(admitted)) return admitted;
    if (isRead) return this.#read(request, name, admitted);
    if (method !== 'POST')
      return withHeaders(plainAnswer(405, 'Only GET and POST are allowed here.'), { allow: 'GET, HEAD, POST' });
    const refusal = refusalOf(request);
    if (refusal !== undefined) return refusal;
    const action = Object.hasOwn(ACTIONS, name) ? ACTIONS[name] : undefined;
    if (action === undefined) return plainAnswer(404, 'There is no such action.');
    if (admitted.role !== 'operator') return plainAnswer(403, 'You may look at these jobs, but not change them.');
    const answer = await carryOut(name, action, request, {
      manager: this.#manager(),
      viewer: admitted,
    });
    // Earlier readings are now outdated.
    this.#lookout?.forget();
    return answer;
  }

  async #read(request: DashboardRequest, name: string, viewer: Viewer): Promise<Answer> {
    const page = Object.hasOwn(PAGES, name) ? PAGES[name]! : undefined;
    const { pathname, searchParams: query } = request.url;
    // Relative addresses on `/jobs` would lead past the dashboard, so it becomes `/jobs/`.
    const isRoot = request.mountPath === undefined ? page === undefined : pathname === request.mountPath;
    // It is still encoded, as it was in the address. A name with a colon alone would be taken for a scheme.
    if (isRoot && name !== '') return redirect(`${name.includes(':') ? './' : ''}${name}/`);
    if (page === undefined) return plainAnswer(404, 'There is no such page.');
    const manager = this.#manager();
    const context = {
      manager,
      lookout: this.#look,
      viewer,
      query,
      here: address(name, Object.fromEntries(query)),
      get now() {
        return manager.clock.now();
      },
    };
    const accepted = request.headers('accept') ?? '';
    // 204 keeps the browser from reconnecting.
    if (accepted.includes('text/event-stream'))
      return STILL.has(name) ? { status: 204, headers: {}, body: '' } : this.#listen(page, context);
    const view = await shown(page, context);
    const status = view.status ?? 200;
    if (accepted.includes('application/json') && !accepted.includes('text/html')) return jsonAnswer(status, view.data);
    if (view.goTo !== undefined) return redirect(view.goTo);
    const { notice, headers } = takeNotice(request);
    return withHeaders(htmlAnswer(status, frame(view, context, name, notice)), headers);
  }

  get #look(): Lookout {
    return (this.#lookout ??= new Lookout(this.#manager().clock));
  }

  #listen(page: Page, context: PageContext): Answer {
    this.#live ??= new Live(this.#manager().clock);
    const body = this.#live.watch(context, () => shown(page, context));
    return { status: 200, headers: { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' }, body };
  }
}

/** People get a way back, programs a line of text. */
function troublePage(answer: Answer, { code, message }: NonNullable<Answer['trouble']>): Answer {
  const title = { 403: 'Not allowed', 404: 'Nothing is here' }[answer.status] ?? 'This could not be done';
  const told = html`<p>${message} ${code !== unanswered.code && html`<span class="soft">(${code})</span>`}</p>`;
  const page = barePage(title, html`${told}<p><a href="${address('')}">Go to the overview</a></p>`);
  return withHeaders(htmlAnswer(answer.status, page), {
    ...answer.headers,
    'content-type': 'text/html; charset=utf-8',
  });
}

/** The page; or what is wrong, if its store cannot be reached. */
async function shown(page: Page, context: PageContext): Promise<View> {
  try {
    return await inHaste(() => page(context));
  } catch (error) {
    if (!(error instanceof OnqueueError)) throw error;
    const [told, isAway] = [redact(error.message), isStoreAway(error)];
    return {
      title: isAway ? 'The store cannot be reached' : 'This page cannot be shown',
      status: isAway ? 503 : 422,
      trouble: told,
      parts: { trouble: html`<p class="trouble">${told} <span class="soft">(${error.code})</span></p>` },
      data: { error: { code: error.code, message: told } },
    };
  }
}
