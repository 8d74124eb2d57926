/** The names that Laravel's users type for commands that are called differently here. */

const COUNTERPARTS: Readonly<Record<string, string>> = {
  'queue:batches-table': 'migrate',
  'queue:continue': 'resume',
  'queue:failed-table': 'migrate',
  'queue:prune-batches': 'prune --batches=1d',
  'queue:prune-failed': 'prune --older-than=1d',
  'queue:retry-batch': 'batch:retry <id>',
  'queue:table': 'migrate',
  'make:queue-batches-table': 'migrate',
  'make:queue-failed-table': 'migrate',
  'make:queue-table': 'migrate',
  'schedule:interrupt': 'restart',
  'schedule:work': 'work',
  horizon: 'work',
  'horizon:continue': 'resume --all',
  'horizon:list': 'workers',
  'horizon:pause': 'pause --all',
  'horizon:status': 'workers',
  'horizon:supervisors': 'workers',
  'horizon:terminate': 'restart',
};

/** What else a user of Laravel should know. */
const REMARKS: Readonly<Record<string, string>> = {
  'schedule:work': 'Each worker also keeps the schedules that its process declares.',
};

/** Our command for one of Laravel's, as a sentence. Undefined if it is none of these. */
export function laravelHint(word: string): string | undefined {
  if (!Object.hasOwn(COUNTERPARTS, word)) return undefined;
  return [`Did you mean ${COUNTERPARTS[word]}?`, REMARKS[word]].filter(Boolean).join(' ');
}

/** `work` for Laravel's `queue:work`. */
export function withoutLaravelPrefix(word: string): string {
  return word.replace(/^(queue|horizon):/, '');
}
