/** What can go wrong with the dashboard. */
import { defineError } from '../base/define-error';
import { valueText } from '../base/value-text';

/** Within a program, anybody who reaches it could see and retry all jobs. */
export const authorizeMissing = defineError('E_DASHBOARD_AUTHORIZE', (given: unknown) => ({
  message:
    `dashboard() needs a function authorize, and got ${valueText(given)}: without one, anybody could see all jobs. Give ` +
    "dashboard({ authorize: (request) => roleOf(request.headers.cookie) }), where your roleOf gives 'viewer', 'operator', or false.",
  facts: { given },
}));

/** Left out, a mistyped `manager` would show the store of another program. */
export const invalidOption = defineError('E_DASHBOARD_OPTION', (option: string, value: unknown, remedy: string) => ({
  message: `dashboard() cannot have ${option} set to ${valueText(value)}: ${remedy}.`,
  facts: { option, value },
}));

/** Of what was given the role alone: it may be a user, with a password. */
export const invalidRole = defineError('E_DASHBOARD_ROLE', (role: unknown) => ({
  message:
    `authorize of dashboard() gave the role ${valueText(role)}. It gives 'viewer' (looks), 'operator' (also acts), or ` +
    '{ role, name } of one of these, or false for anybody else.',
  facts: { role },
}));

/** Its value stands in no message: logs are read by many. */
export const tokenUnfit = defineError('E_DASHBOARD_TOKEN', (variable: string, problem: string) => ({
  message:
    `${variable} ${problem}. Set it to 32 characters or more that nobody can guess, such as those of: openssl rand -hex 32. ` +
    'Without it, the dashboard is for this machine alone: --host=127.0.0.1.',
  facts: { variable },
}));

export const formTooLarge = defineError('E_DASHBOARD_FORM_SIZE', (most: number) => ({
  message: `A form sent to the dashboard is larger than ${most} bytes. Choose fewer jobs at once, or all that fit a filter.`,
  facts: { most },
}));

/** Its viewer has gone, or has gone on to another page. */
export const formCut = defineError('E_DASHBOARD_FORM_CUT', () => ({
  message: 'A form sent to the dashboard has ended before all of it was there. Send it again.',
  facts: {},
}));

/** A parser of the framework has taken the body, and given nothing. */
export const formUnreadable = defineError('E_DASHBOARD_FORM', () => ({
  message:
    'A form sent to the dashboard was read by another part of the program, which left nothing of it. Mount the dashboard before ' +
    'parsers of bodies, or have one that reads application/x-www-form-urlencoded put it into request.body.',
  facts: {},
}));

/** The address of a page was written by hand: it lacks what it is about, or names what cannot be. */
export const neededField = defineError('E_DASHBOARD_QUERY', (field: string) => ({
  message: `The address of this page lacks '${field}', or has none there that can be. Go there from the overview.`,
  facts: { field },
}));

export const formIncomplete = defineError('E_DASHBOARD_FIELD', (field: string) => ({
  message: `A form sent to the dashboard lacks the field '${field}'. Send it from the page again.`,
  facts: { field },
}));

/** A program goes past the page that asks a person. */
export const unconfirmed = defineError('E_DASHBOARD_CONFIRM', (action: string, title: string) => ({
  message: `${title} Nothing was done yet: ${action} cannot be undone. Send the same with the field confirmed=yes to have it done.`,
  facts: { action },
}));

/** For programs, where nothing else says more than the status and a line of text. */
export const unanswered = defineError('E_DASHBOARD_ANSWER', (why: string) => ({ message: why, facts: {} }));
