/** The form for signing in with a token; or, without tokens, how else to get in. */
import { barePage } from '../document';
import { html, type Html } from '../html';

/**
 * @param to the address that the viewer asked for
 * @param problem why the last try failed
 */
export function signInPage(hasTokens: boolean, to: string, problem: string | undefined): Html {
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
