/** The cookies that a browser has sent, and those that it is given. */

/** All cookies of this name: there may be several, for different paths and hosts. */
export function cookiesNamed(header: string, name: string): readonly string[] {
  const cookies = header.split(/;\s*/).filter((cookie) => cookie.startsWith(`${name}=`));
  return cookies.map((cookie) => cookie.slice(name.length + 1));
}

/** Other sites cannot make a browser send the cookie, and no script can read it. */
export function cookieAttributes(isSecure: boolean): string {
  return `; Path=/; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`;
}
