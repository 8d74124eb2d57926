/** The cookies that a browser has sent, and those that it is given. */

/** All of this name: there may be several, of several paths and hosts. */
export function cookiesNamed(header: string, name: string): readonly string[] {
  const cookies = header.split(/;\s*/).filter((cookie) => cookie.startsWith(`${name}=`));
  return cookies.map((cookie) => cookie.slice(name.length + 1));
}

/** Other sites cannot have it sent, and no script reads it. */
export function cookieAttributes(isSecure: boolean): string {
  return `; Path=/; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`;
}
