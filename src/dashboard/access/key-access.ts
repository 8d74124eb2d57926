/** The sign-in of `onqueue dashboard`: with a one-time key that it prints, or with a token; then by a session. */
import { randomBytes } from 'node:crypto';
import type { Clock, Milliseconds } from '../../base/clock';
import type { Logger } from '../../base/logger';
import { address, isOwnAddress, nameIn, ownAddress } from '../addresses';
import { barePage } from '../document';
import { html, type Html } from '../html';
import { type Answer, htmlAnswer, plainAnswer, redirect, withHeaders } from '../http/answer';
import { cookieAttributes, cookiesNamed, type DashboardRequest, refusalOf } from '../http/request';
import type { Access, Role, Viewer } from './access';
import { Sessions, WrongTries } from './sessions';
import { namesLoopback, Secret, type Tokens } from './tokens';

/** Counted from the start of the process. */
const KEY_LASTS: Milliseconds = 15 * 60_000;
/** Bytes of the sign-in form, which anybody may send. */
const LARGEST_SIGN_IN = 16 * 1024;
const FIRST_PAGE = './';
const PROGRAMS_SIGN_IN = { 'www-authenticate': 'Bearer realm="Onqueue"' };

interface KeyAccessOptions {
  readonly tokens: Tokens;
  /** The role of whoever has the key or the operators' token. */
  readonly role: Role;
  /** The server's port, part of the cookie's name, because browsers send cookies to all ports of a machine. */
  readonly port: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class KeyAccess implements Access {
  readonly #options: KeyAccessOptions;
  readonly #cookie: string;
  readonly #sessions: Sessions;
  /**
   * Programs that have sent a right token, by their address and token, so that other people's wrong tokens do not lock them out.
   */
  readonly #programs: Sessions;
  readonly #wrong: WrongTries;
  readonly #begun: Milliseconds;
  #key: Secret | undefined;

  constructor(options: KeyAccessOptions) {
    const { clock, port } = (this.#options = options);
    this.#cookie = `onqueue-session-${port}`;
    this.#sessions = new Sessions(clock);
    this.#programs = new Sessions(clock);
    this.#wrong = new WrongTries(clock);
    this.#begun = clock.monotonic();
  }

  makeKey(): string {
    const key = randomBytes(32).toString('base64url');
    this.#key = new Secret(key);
    return key;
  }

  async admit(request: DashboardRequest): Promise<Viewer | Answer> {
    const { method, headers, url } = request;
    // With tokens there may be a proxy in front, under any name. A key is only for this machine.
    if (this.#options.tokens.operator === undefined && !namesLoopback(headers('host') ?? ''))
      return plainAnswer(421, 'This dashboard is only for this machine: use the address localhost or 127.0.0.1.');
    const [name, isRead] = [nameIn(url), method === 'GET' || method === 'HEAD'];
    const id = this.#idOf(request);
    if (name === 'sign-in' && isRead) return this.#answerKey(request, id !== undefined);
    if (method === 'POST' && (name === 'sign-in' || name === 'sign-out')) {
      const refusal = refusalOf(request);
      if (refusal !== undefined) return refusal;
      return name === 'sign-in' ? this.#answerForm(request) : this.#signOut(request, id);
    }
    if (id !== undefined) return viewerOf(this.#sessions, id, true);
    return this.#program(request) ?? this.#strange(request);
  }

  #answerKey(request: DashboardRequest, isSignedIn: boolean): Answer {
    const { method, headers, url } = request;
    const key = url.searchParams.get('key');
    if (key !== null) {
      // A browser that prefetches would use up the key before anybody has followed the link.
      if (/prefetch/.test(`${headers('sec-purpose')} ${headers('purpose')}`))
        return plainAnswer(503, 'This address must not be prefetched.');
      if (method === 'GET' && this.#useUp(key)) return this.#signIn(request, this.#options.role, FIRST_PAGE);
    }
    const to = ownAddress(url.searchParams.get('to'));
    if (isSignedIn) return redirect(to);
    const problem = key === null ? undefined : 'This link has already been used, or is older than 15 minutes.';
    return this.#form(key === null ? 200 : 403, to, problem);
  }

  /** Nothing is awaited between checking and using up the key: of two concurrent requests, only one gets in. */
  #useUp(key: string): boolean {
    const { clock } = this.#options;
    if (this.#key?.matches(key) !== true || clock.monotonic() - this.#begun > KEY_LASTS) return false;
    this.#key = undefined;
    return true;
  }

  async #answerForm(request: DashboardRequest): Promise<Answer> {
    const form = await request.form(LARGEST_SIGN_IN);
    const to = ownAddress(form.get('to'));
    const from = request.address ?? '';
    const pause = this.#wrong.pauseOf(from);
    if (pause > 0) {
      const answer = this.#form(429, to, `There were too many wrong tokens. Try again in ${pause} seconds.`);
      return withHeaders(answer, { 'retry-after': String(pause) });
    }
    const role = this.#roleOf(form.get('token')?.trim() ?? '');
    if (role !== undefined) return this.#signIn(request, role, to);
    this.#addWrong(from);
    return this.#form(403, to, 'This is not the token of this dashboard.');
  }

  #signIn({ isSecure }: DashboardRequest, role: Role, to: string): Answer {
    return redirect(to, { 'set-cookie': `${this.#cookie}=${this.#sessions.open(role)}${cookieAttributes(isSecure)}` });
  }

  #signOut({ isSecure }: DashboardRequest, id: string | undefined): Answer {
    if (id !== undefined) this.#sessions.end(id);
    return redirect('sign-in', { 'set-cookie': `${this.#cookie}=; Max-Age=0${cookieAttributes(isSecure)}` });
  }

  /** Undefined if the request has no token. */
  #program(request: DashboardRequest): Viewer | Answer | undefined {
    const [, token] = /^bearer\s+(.*)$/i.exec(request.headers('authorization') ?? '') ?? [];
    if (token === undefined) return undefined;
    const from = request.address ?? '';
    const id = `${from} ${token}`;
    if (this.#programs.find(id) !== undefined) return viewerOf(this.#programs, id, false);
    const pause = this.#wrong.pauseOf(from);
    if (pause > 0)
      return withHeaders(plainAnswer(429, 'There were too many wrong tokens.'), { 'retry-after': String(pause) });
    const role = this.#roleOf(token);
    if (role === undefined) {
      this.#addWrong(from);
      return withHeaders(plainAnswer(401, 'This is not the token of this dashboard.'), PROGRAMS_SIGN_IN);
    }
    return viewerOf(this.#programs, this.#programs.open(role, id), false);
  }

  #addWrong(address: string): void {
    this.#wrong.add(address);
    if (this.#wrong.pauseOf(address) === 0) return;
    const told = `Dashboard: too many wrong tokens from ${address}. Nobody can sign in from there for a minute.`;
    this.#options.logger.warn({ address }, told);
  }

  #strange({ method, headers, url }: DashboardRequest): Answer {
    if (method !== 'GET' || headers('accept')?.includes('text/html') !== true)
      return withHeaders(plainAnswer(401, 'Sign in first, or send a Bearer token.'), PROGRAMS_SIGN_IN);
    const to = address(nameIn(url), Object.fromEntries(url.searchParams));
    return redirect(address('sign-in', { to: isOwnAddress(to) && to !== FIRST_PAGE ? to : undefined }));
  }

  #form(status: number, to: string, problem: string | undefined): Answer {
    const { operator, viewer } = this.#options.tokens;
    return htmlAnswer(status, signInPage(operator !== undefined || viewer !== undefined, to, problem));
  }

  #roleOf(token: string): Role | undefined {
    const { tokens, role } = this.#options;
    // Always compares both, whatever the first comparison gives.
    const [isOperator, isViewer] = [tokens.operator?.matches(token), tokens.viewer?.matches(token)];
    return isOperator === true ? role : isViewer === true ? 'viewer' : undefined;
  }

  /** Another site under the same host name may have set a cookie with this name, which the browser may send first. */
  #idOf({ headers }: DashboardRequest): string | undefined {
    const ids = cookiesNamed(headers('cookie') ?? '', this.#cookie);
    return ids.find((id) => this.#sessions.find(id) !== undefined);
  }
}

/** @param id of a session that has not ended */
function viewerOf(sessions: Sessions, id: string, canSignOut: boolean): Viewer {
  const role = sessions.find(id)!;
  return { role, name: undefined, canSignOut, hasLeft: () => sessions.find(id, false) === undefined };
}

/** @param to the address that the viewer asked for @param problem why the last try failed */
function signInPage(hasTokens: boolean, to: string, problem: string | undefined): Html {
  return barePage(
    'Sign in',
    html`${problem !== undefined && html`<p class="trouble" id="problem" role="alert" ${!hasTokens && html` tabindex="-1" autofocus`}>${problem}</p>`}
    ${hasTokens ? form(problem, to) : WITHOUT_TOKEN}`,
  );
}

const WITHOUT_TOKEN = html`<p>
    Open the link that <code>onqueue dashboard</code> printed in its terminal. It works once, within 15 minutes.
  </p>
  <p>For a new link, stop the command and start it again.</p>`;

function form(problem: string | undefined, to: string): Html {
  return html`<form method="post" action="sign-in">
    <p><label for="token">Token</label>
      <input id="token" type="password" name="token" required autofocus autocomplete="current-password"
        ${problem !== undefined && html` aria-invalid="true" aria-describedby="problem"`} /></p>
    <input type="hidden" name="to" value="${to}" />
    <p class="choice"><button>Sign in</button></p>
  </form>`;
}
