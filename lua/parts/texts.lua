-- texts.lua: reads the id and the counters in a payload, and writes new ones without re-encoding it.
--
--   `src/payload/counters.ts` states the rules and implements them too.

-- We look for counters and the id before them only at the end: a pattern over the whole of a long text would cost
-- milliseconds.
local WINDOW, LONGEST_COUNTER, MOST_DIGITS, LONGEST_ID = 128, 26, 13, 64
-- Texts that we write end in `,"id":"`, a UUID of 36 characters and `","attempts":0}`: one look finds both.
local OUR_TAIL, OPENING = 58, 123

-- The members of a JSON object. Nil: it is none. The parser would stop at a NUL and ignore the rest.
local function fields_of(text)
  if find(text, '%z') or not find(text, '^%s*{') then return nil end
  local well_formed, fields = pcall(cjson.decode, text)
  return well_formed and fields or nil
end

local function counted(fields, name)
  local value = fields[name]
  if type(value) == 'number' and value >= 0 and value < 1e13 then return math.floor(value) end
  return 0
end

-- The counter `name` at the end of `text`, and the text before it.
local function pop_counter(text, name)
  local start, _, digits = find(text, '[{,]"' .. name .. '":([1-9]%d*)$')
  if not start or #digits > MOST_DIGITS then return 0, text end
  return tonumber(digits), sub(text, 1, byte(text, start) == OPENING and start or start - 1)
end

-- The end of the body, then attempts, crashes, exceptions, timeouts and releases, then the fields if they had to be
-- decoded. Nil: it is not a JSON object.
local function read_counters(text)
  local start, _, attempts = find(text, '[{,]"attempts":(%d+)}$', -LONGEST_COUNTER)
  if start and find(text, '^[ \n\r\t]*{') then
    if byte(text, start) == OPENING then return start, tonumber(attempts), 0, 0, 0, 0 end
    local last = byte(text, start - 1)
    if last < 48 or last > 57 then return start - 1, tonumber(attempts), 0, 0, 0, 0 end
    local before = sub(text, -WINDOW, start - 1)
    local length = #before
    local crashes, exceptions, timeouts, releases
    releases, before = pop_counter(before, 'releases')
    timeouts, before = pop_counter(before, 'timeouts')
    exceptions, before = pop_counter(before, 'exceptions')
    crashes, before = pop_counter(before, 'crashes')
    return start - 1 - length + #before, tonumber(attempts), crashes, exceptions, timeouts, releases
  end
  local fields = fields_of(text)
  if not fields then return nil end
  return find(text, '}%s*$') - 1, counted(fields, 'attempts'), counted(fields, 'crashes'),
    counted(fields, 'exceptions'), counted(fields, 'timeouts'), counted(fields, 'releases'), fields
end

-- Appends members to a body. Only after an empty object's brace there is no comma.
local function join(body, members)
  if find(body, '^%s*{%s*$') then return body .. members end
  return body .. ',' .. members
end

local function counters(attempts, crashes, exceptions, timeouts, releases)
  local text = '"attempts":' .. attempts .. '}'
  if releases > 0 then text = '"releases":' .. releases .. ',' .. text end
  if timeouts > 0 then text = '"timeouts":' .. timeouts .. ',' .. text end
  if exceptions > 0 then text = '"exceptions":' .. exceptions .. ',' .. text end
  if crashes > 0 then text = '"crashes":' .. crashes .. ',' .. text end
  return text
end

-- The text of a job whose holder went silent: its attempt becomes a crash. Nil: it is not a JSON object.
local function reclaimed_text(text)
  local body_end, attempts, crashes, exceptions, timeouts, releases = read_counters(text)
  if not body_end then return nil end
  local tail = counters(math.max(attempts - 1, 0), crashes + 1, exceptions, timeouts, releases)
  return join(sub(text, 1, body_end), tail)
end

-- The text of a reservation with an id inserted before its counters.
local function with_id(text, id)
  local body_end, attempts, crashes, exceptions, timeouts, releases = read_counters(text)
  local body = join(sub(text, 1, body_end), '"id":"' .. id .. '"')
  return join(body, counters(attempts, crashes, exceptions, timeouts, releases))
end

-- The id directly before the counters. Nil: it is elsewhere, or very long.
local function last_id(text, body_end)
  if byte(text, body_end) ~= 34 then return nil end
  local _, _, id = find(sub(text, math.max(body_end - LONGEST_ID + 1, 1), body_end), '[{,]"id":"([^"\\]+)"$')
  return id
end

-- The id of a payload. Nil: it has none.
local function id_of(text)
  local _, _, ours = find(text, '^,"id":"([%w-]+)","attempts":%d}$', -OUR_TAIL)
  if ours then return ours end
  local body_end, _, _, _, _, _, fields = read_counters(text)
  local id = body_end and last_id(text, body_end)
  if id or not body_end then return id end
  fields = fields or fields_of(text)
  if fields and type(fields.id) == 'string' and fields.id ~= '' then return fields.id end
end
