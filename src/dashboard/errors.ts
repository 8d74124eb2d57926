/** Errors of the dashboard. */
import { defineError } from '../base/onqueue-error';
import { valueText } from '../base/text';

/** Within a program, anybody who reaches the dashboard could see and retry all jobs. */
export const authorizeMissing = defineError('E_DASHBOARD_AUTHORIZE', (given: unknown) => ({
  message:
    `dashboard() needs a function authorize, but got ${valueText(given)}: without one, anybody could see all jobs. Give ` +
    "dashboard({ authorize: (request) => roleOf(request.headers.cookie) }), where your roleOf returns 'viewer', 'operator', or false.",
  facts: { given },
}));

/** Ignoring a mistyped `manager` would show the store of another program. */
export const invalidOption = defineError('E_DASHBOARD_OPTION', (option: string, value: unknown, remedy: string) => ({
  message: `dashboard() cannot have ${option} set to ${valueText(value)}: ${remedy}.`,
  facts: { option, value },
}));

/** Shows only the role: the rest may be a user with a password. */
export const invalidRole = defineError('E_DASHBOARD_ROLE', (role: unknown) => ({
  message:
    `authorize of dashboard() returned the role ${valueText(role)}. Return 'viewer' (looks), 'operator' (also acts), ` +
    '{ role, name } with one of these, or false for anybody else.',
  facts: { role },
}));

/** No message contains the token: logs are read by many. */
export const tokenUnfit = defineError('E_DASHBOARD_TOKEN', (variable: string, problem: string) => ({
  message:
    `${variable} ${problem}. Set it to 32 characters or more that nobody can guess, such as the output of: openssl rand -hex 32. ` +
    'Without it, the dashboard is only for this machine: --host=127.0.0.1.',
  facts: { variable },
}));

export const formTooLarge = defineError('E_DASHBOARD_FORM_SIZE', (most: number, of: 'bytes' | 'fields') => ({
  message: `A form sent to the dashboard has more than ${most} ${of}. Choose fewer jobs at once, or all that match a filter.`,
  facts: { most, of },
}));

/** Its sender has gone, or has moved on to another page. */
export const formCut = defineError('E_DASHBOARD_FORM_CUT', () => ({
  message: 'A form sent to the dashboard ended before it was complete. Send it again.',
  facts: {},
}));

/** A body parser of the framework has read the body, and passed nothing on. */
export const formUnreadable = defineError('E_DASHBOARD_FORM', () => ({
  message:
    'A form sent to the dashboard was read by another part of the program, which passed nothing on. Mount the dashboard before ' +
    'body parsers, or use one that puts application/x-www-form-urlencoded forms into request.body.',
  facts: {},
}));

/** The address of a page was written by hand: a field is missing, or not valid. */
export const neededField = defineError('E_DASHBOARD_QUERY', (field: string) => ({
  message: `The address of this page lacks a valid '${field}'. Go there from the overview.`,
  facts: { field },
}));

export const formIncomplete = defineError('E_DASHBOARD_FIELD', (field: string) => ({
  message: `A form sent to the dashboard lacks the field '${field}'. Send it again from its page.`,
  facts: { field },
}));

/** A program skipped the page that asks for confirmation. */
export const unconfirmed = defineError('E_DASHBOARD_CONFIRM', (action: string, title: string) => ({
  message: `${title} Nothing was done yet: ${action} cannot be undone. To do it, send the same form with the field confirmed=yes.`,
  facts: { action },
}));

/** For programs, if the status and a line of text say everything. */
export const unanswered = defineError('E_DASHBOARD_ANSWER', (why: string) => ({ message: why, facts: {} }));
