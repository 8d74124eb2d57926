/** The frame of each page: navigation, search, the notice about the last action, and which stores it shows. */
import type { QueueManager } from '../application/queue-manager';
import { redact } from '../base/redact';
import { keepingConnections } from '../connections/driver';
import { VERSION } from '../version';
import type { Notice } from './actions/action';
import { address } from './addresses';
import { assetAddress, BRAND, htmlDocument } from './document';
import { html, type Html } from './html';
import { JOB_LISTS } from './pages/job-classes';
import { STILL } from './pages/pages';
import { actionForm } from './parts/links';
import { someOf } from './parts/text';
import { type PageContext, regionsOf, type View } from './view';

const NAVIGATION = [
  ['', 'Overview'],
  ['all-queues', 'Queues'],
  ['job-classes', 'Jobs'],
  ['failed', 'Failed'],
  ['workers', 'Workers'],
  ['schedules', 'Schedules'],
  ['batches', 'Batches'],
] as const;

/** The entry of the navigation that leads to a page: itself, the first page above it, or the lists of jobs that it is one of. */
function entryOf(name: string, { trail = [] }: View): string {
  const [[, above] = [undefined, name]] = trail;
  return Object.hasOwn(JOB_LISTS, name) ? 'job-classes' : above;
}

/** @param name the name of the page */
export function frame(view: View, context: PageContext, name: string, notice?: Notice): Html {
  const { viewer, here, query, now } = context;
  const link = ([page, label]: readonly [string, string]): Html =>
    html`<a href="${address(page)}" ${entryOf(name, view) === page && html` aria-current="page"`}>${label}</a>`;
  const searchBox = html`<form class="search" role="search" action="search">
    <input
      type="search"
      name="text"
      value="${query.get('text') ?? ''}"
      placeholder="Job id or text"
      aria-label="Search for a job"
      maxlength="300"
    /><button>Search</button>
  </form>`;
  const signOut = html`<form method="post" action="sign-out"><button class="quiet">Sign out</button></form>`;
  const body = html`<body>
    <a class="skip" href="#main">Skip to the content</a>
    <header class="top">
      ${BRAND}
      <nav aria-label="Pages">${NAVIGATION.map(link)}</nav>
      ${searchBox}
      <span class="viewer">
        <span id="updated" class="soft" hidden></span>
        <button type="button" class="quiet" id="pause-updates" hidden aria-pressed="false">Pause updates</button>
        ${viewer.canSignOut && signOut}</span>
    </header>
    <main id="main" tabindex="-1"${!STILL.has(name) && html` data-live="${here}"`} data-now="${now}">
      ${
        notice &&
        html`<div class="notice" tabindex="-1" autofocus>
          <p>${notice.text}${notice.link && html` <a href="${notice.link.address}">${notice.link.label}</a>`}</p>
          ${notice.undo && actionForm(notice.undo, context)}
        </div>`
      }
      ${trailOf(view)}<h1>${view.title}</h1>
      <p id="state" role="status" class="trouble"></p>
      ${[...regionsOf(view).values()]}
    </main>
    ${SHORTCUTS}
    <footer>
      <p>Onqueue ${VERSION}</p>
      ${storesLine(context.manager)}
    </footer>
  </body>`;
  const head = html`<meta name="robots" content="noindex" />
    <script src="${assetAddress('script.js')}" defer></script>`;
  return htmlDocument(view.title, body, head);
}

/** Empty on pages of the navigation. */
function trailOf({ trail = [] }: View): Html | undefined {
  if (trail.length === 0) return undefined;
  return html`<nav class="trail" aria-label="Breadcrumb">${trail.map(([label, to]) => html`<a href="${to}"><bdi>${label}</bdi></a> / `)}</nav>`;
}

const KEYS = [
  ['/', 'search'],
  ['g o, g q, g j, g r, g f, g w, g s, g b', 'overview, queues, jobs, runs, failed, workers, schedules, batches'],
  ['j, k', 'next and previous row'],
  ['?', 'this list'],
] as const;

/** Opened by the script. Keys of one letter can be turned off, because some people press them without meaning to. */
const SHORTCUTS = html`<dialog id="shortcuts" aria-label="Keys">
  <dl class="facts wide">${KEYS.map(([keys, what]) => html`<div><dt class="mono">${keys}</dt><dd>${what}</dd></div>`)}</dl>
  <form method="dialog" class="choice"><button>Close</button><button value="off" class="quiet">Turn these keys off</button></form>
</dialog>`;

const MOST = 5;
/** In characters: a cluster has many nodes. */
const LONGEST = 120;

/** Undefined if no connection keeps jobs, or the configuration cannot be read, which the page itself reports. */
function storesLine(manager: QueueManager): Html | undefined {
  try {
    const names = keepingConnections(manager);
    if (names.length === 0) return undefined;
    const shown = (name: string): Html => html`<bdi>${name}</bdi> (<bdi>${placeOf(manager, name)}</bdi>)`;
    return html`<p>Connections: ${someOf(names, MOST, shown)}</p>`;
  } catch {
    return undefined;
  }
}

function placeOf(manager: QueueManager, name: string): string {
  const { driver } = manager.settings(name);
  try {
    // The address of a user's driver may contain more than ours do.
    const address = redact(manager.driver(name).address);
    const text = address.startsWith(driver) ? address : `${driver} ${address}`;
    return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
  } catch {
    return driver;
  }
}
