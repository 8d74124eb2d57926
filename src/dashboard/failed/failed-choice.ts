/** Which failed jobs an address or a form chooses: those that match all given fields. */
import type { FailedFilter } from '../../application/failed/failed-filter';

/** The names of the fields in forms and addresses. */
export const CHOICES = ['connection', 'queue', 'name', 'error', 'group', 'batch', 'olderThan'] as const;

export type FailedChoice = { readonly [Field in (typeof CHOICES)[number]]?: string | undefined };

/** Empty fields choose nothing. */
export function choiceIn(fields: URLSearchParams): FailedChoice {
  const given = CHOICES.map((field) => [field, fields.get(field)?.trim() ?? ''] as const);
  return Object.fromEntries(given.filter(([, value]) => value !== ''));
}

/** Undefined if all jobs are meant. */
export function filterOf(choice: FailedChoice): FailedFilter | undefined {
  return Object.keys(choice).length === 0 ? undefined : (choice as FailedFilter);
}

/** `of the queue mail, with "452" in their error` */
export function choiceText({ connection, queue, name, error, group, batch, olderThan }: FailedChoice): string {
  const words = [
    name && `of the class ${name}`,
    queue && `of the queue ${queue}`,
    connection && `of the connection ${connection}`,
    batch && `of the batch ${batch}`,
    group && `that failed by “${group}”`,
    error && `with “${error}” in their error`,
    olderThan && `that failed more than ${olderThan} ago`,
  ];
  return words.filter(Boolean).join(', ');
}
