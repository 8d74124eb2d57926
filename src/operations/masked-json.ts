/** JSON for people and programs that inspect jobs: parsed, with secrets masked, even within texts that contain JSON. */
import { isSecretKey, MASK, redact } from '../base/redact';

/** @throws SyntaxError it is not JSON */
export function maskedJson(text: string): unknown {
  const root: readonly unknown[] = [JSON.parse(text)];
  // Not with a reviver of JSON.parse, which would be called for each of a hundred thousand numbers.
  const open: object[] = [root];
  for (let holder = open.pop(); holder !== undefined; holder = open.pop()) {
    if (Array.isArray(holder)) maskList(holder, open);
    else maskObject(holder as Record<string, unknown>, open);
  }
  return root[0];
}

function maskObject(holder: Record<string, unknown>, open: object[]): void {
  for (const key of Object.keys(holder)) {
    const value = holder[key];
    if (typeof value === 'object' && value !== null) open.push(value);
    else if (isSecretKey(key)) holder[key] = MASK;
    else if (typeof value === 'string') holder[key] = maskedText(value);
  }
}

function maskList(holder: unknown[], open: object[]): void {
  for (const [place, value] of holder.entries()) {
    if (typeof value === 'object' && value !== null) open.push(value);
    else if (typeof value === 'string') holder[place] = maskedText(value);
  }
  // The entries of a Map: ["password", "…"].
  const [key, value] = holder;
  if (holder.length !== 2 || typeof key !== 'string' || !isSecretKey(key)) return;
  if (typeof value !== 'object' || value === null) holder[1] = MASK;
}

function maskedText(text: string): string {
  // The jobs of a chain travel as texts: within these, only the keys tell a number from a secret.
  if (!text.startsWith('{"')) return redact(text);
  try {
    const masked = JSON.stringify(maskedJson(text));
    return masked.includes(MASK) ? masked : redact(text);
  } catch {
    return redact(text);
  }
}
