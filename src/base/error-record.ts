/** An error for a log line: in the shape of pino's `err`, bounded, without passwords, and without our own frames. */
import { dirname, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import { causeOf, codeText, errorMessage, errorName, MOST_CAUSES, partsOf, stackText } from './exception-text';

export interface ErrorRecord {
  /** The name of its class. */
  readonly type: string;
  readonly message: string;
  readonly code?: string;
  readonly stack: string;
  readonly cause?: ErrorRecord;
  /** The parts of an error that stands for several. */
  readonly aggregateErrors?: readonly ErrorRecord[];
}

/** The folder with all of Onqueue's code. */
const OURS = dirname(__dirname) + sep;
const OUR_FRAMES = [
  `(${OURS}`,
  `at ${OURS}`,
  pathToFileURL(OURS).href,
  '(node:internal',
  'at node:internal',
  '(node:async_hooks',
];

/** Never throws. `above`: the errors whose causes or parts lead to this one. */
export function errorRecord(error: Error, above: readonly Error[] = []): ErrorRecord {
  const path = [...above, error];
  const isDeepest = path.length > MOST_CAUSES;
  const cause = isDeepest ? undefined : causeOf(error);
  const code = codeText(error);
  const parts = isDeepest ? [] : partsOf(error);
  return {
    type: errorName(error),
    message: errorMessage(error),
    ...(code !== undefined && { code }),
    stack: withoutOurs(stackText(error)),
    ...(cause !== undefined && !path.includes(cause) && { cause: errorRecord(cause, path) }),
    ...(parts.length > 0 && { aggregateErrors: parts.map((part) => errorRecord(part, path)) }),
  };
}

function withoutOurs(stack: string): string {
  const lines = stack.split('\n');
  return lines.filter((line) => !OUR_FRAMES.some((frame) => line.includes(frame))).join('\n');
}
