/** Checks the address of a store before a client does, whose error would contain the password or say nothing of it. */

const REMEDY = 'percent-encode # / ? % @ in the password';

/** What is wrong with its user, password or host, without anything that may be a password. `given` has a scheme. */
export function problemOfAddress(given: string): string | undefined {
  const url = URL.canParse(given) ? new URL(given) : undefined;
  if (url === undefined || url.hash !== '' || isCutOff(url)) {
    return `'${masked(given)}' cannot be read as an address; ${REMEDY}, and give the port as a number`;
  }
  return isDecodable(url.username) && isDecodable(url.password)
    ? undefined
    : `the user or the password in '${masked(given)}' has a % that encodes nothing; ${REMEDY}`;
}

/** An @ after the host belongs to a password that was cut off there: the rest would be lost or taken for a database. */
function isCutOff({ username, password, pathname, search }: URL): boolean {
  const options = username + password === '' ? search : search.replaceAll(/=[^&]*/g, '');
  return (pathname + options).includes('@');
}

/**
 * Masks what may belong to the password: everything up to the last @, what stands in place of a missing host, and a query.
 */
export function masked(given: string): string {
  return given
    .replace(/:\/\/.*@/s, '://***@')
    .replace(/:\/\/:.*$/s, '://***')
    .replace(/[?#].*$/s, '');
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}
