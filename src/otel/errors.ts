/** Errors of `onqueue/otel`. */
import { OnqueueError } from '../index';
import { defineError } from '../base/onqueue-error';

export const apiMissing = (cause: unknown): OnqueueError =>
  new OnqueueError('E_MISSING_PEER', {
    message:
      'onqueue/otel needs the package @opentelemetry/api, which cannot be loaded. Run: npm install @opentelemetry/api',
    facts: { peer: '@opentelemetry/api' },
    cause,
  });

/** @param given the call, as it was written */
export const invalidTelemetry = defineError('E_INVALID_TELEMETRY', (given: string, remedy: string) => ({
  message: `openTelemetry(${given}): ${remedy}.`,
  facts: { given },
}));
