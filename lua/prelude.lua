-- prelude.lua: what stands before every script: the clock, the record of answers, hints, and counters in texts.
--
--   Every script has ARGV[1] offset: seconds to add to the server's clock; 0 outside tests, which move time by it.
--   A script that writes has KEYS[1] client and ARGV[2] sequence: see `recall`.

-- What one call moves at most, so that no call blocks the server; texts are read page by page for the same reason.
local MOST_JOBS, MOST_BYTES, PAGE = 100, 1048576, 10
-- Seconds for which an answer is kept for a repeat: longer than any client goes on asking.
local KEPT = 3600
-- Where our counters, and the id before them, are looked for: a pattern over the whole of a long text would cost
-- milliseconds. The last counter ends the text.
local WINDOW, LONGEST_COUNTER, MOST_DIGITS, LONGEST_ID = 128, 26, 13, 64
-- What we write ends in a UUID and the counter, `,"id":"` 36 characters `","attempts":0}`: one look, where the general
-- way takes several.
local OUR_TAIL = 58
local OPENING = 123 -- {

local call, sub, find, byte, format = redis.call, string.sub, string.find, string.byte, string.format

-- The server's time in microseconds: a whole number, which a double holds exactly.
local function clock()
  local time = call('TIME')
  return time[1] * 1000000 + time[2] + math.floor(ARGV[1] * 1000000)
end

-- A moment as a score. Seconds, as in Laravel; `%.6f`, because Lua's own rendering has 14 digits and drops the fraction.
local function score(moment)
  return format('%.6f', moment / 1000000)
end

-- When a job becomes ready that waits: `delay` is seconds from `moment`, or '@' and seconds since 1970.
local function due_at(moment, delay)
  if byte(delay) == 64 then return math.floor(tonumber(sub(delay, 2)) * 1000000) end
  return moment + math.floor(tonumber(delay) * 1000000)
end

-- The first moment from `moment` on that is nobody's score in `key`: by it, jobs that were moved together are found.
local function free_score(key, moment)
  local free = score(moment)
  while call('ZCOUNT', key, free, free) > 0 do
    moment = moment + 1
    free = score(moment)
  end
  return free
end

-- The answer to a call that was carried out before: its reply was lost, and the client asks again. 'stale': an older
-- call, from a socket that was given up, arrives after its successor. Nothing: the call is new; and whether no earlier
-- call of this client is on record: then its client knows whether one should be; and the number that the last one left.
local function recall(client, sequence)
  local recorded = call('GET', client)
  if not recorded then return nil, sequence > 1, 0 end
  local _, last_byte, last, number = find(recorded, '^(%d+) (%d+) ')
  last = tonumber(last)
  if last > sequence then return { 'stale' } end
  if last == sequence then return cmsgpack.unpack(sub(recorded, last_byte + 1)) end
  return nil, false, tonumber(number)
end

-- What was done counts, whatever becomes of its record: an error would say that nothing was. `number`: for the next call.
local function record(client, sequence, answer, number)
  local before = format('%.0f %.0f ', sequence, number or 0)
  redis.pcall('SET', client, before .. cmsgpack.pack(answer), 'EX', KEPT)
  return answer
end

-- One hint is enough: whoever takes it leaves another as long as there is work.
local function leave_hint(notify)
  if call('LLEN', notify) == 0 then call('RPUSH', notify, '1') end
end

-- Whether nothing is to be handed out of a queue, whose `name` is on record if it was paused; and when a pause for a time
-- ends, in microseconds. One that is over is none: who meets what it has left removes that, or it is over all the same.
local function is_paused(name, control, ready, moment)
  if not name then return false end
  local ending = tonumber(call('HGET', control, 'until:' .. ready) or '')
  if not ending then return true end
  if ending * 1000000 > moment then return true, ending * 1000000 end
  redis.pcall('HDEL', control, 'paused:' .. ready, 'until:' .. ready)
  return false
end

-- A member that is in no key: the name of the client is random, and no text may be lost by a question, not an empty one.
local function nobody()
  return KEYS[1] .. '\n' .. ARGV[2]
end

-- Removes nothing from a sorted set. What is to be removed last is asked for first: where Redis refuses it (a missing
-- right, a key of another type), what was written before would be there twice, and once more with each repeat. And a
-- server that is full lets a script add only after such a command.
local function ask_to_remove(key)
  call('ZREM', key, nobody())
end

-- Raises an error, before anything is moved, where a key of the failed store is of another type or may not be written:
-- a text without its place in `failed` would be left behind, one more with each repeat.
local function check_failed(failed, failed_jobs)
  call('ZADD', failed, 'XX', 0, nobody())
  call('HGET', failed_jobs, '')
end

-- Keeps a job in the failed store, in place of what is kept by its id.
local function keep_failed(failed, failed_jobs, id, moment, meta, payload)
  call('HSET', failed_jobs, id, meta .. '\n' .. payload)
  call('ZADD', failed, score(moment), id)
end

-- The meta line of what is kept of a failed job, and its payload: all of it, where somebody else wrote it without a line.
local function entry_parts(entry)
  local line_end = find(entry, '\n', 1, true) or 0
  return sub(entry, 1, line_end - 1), sub(entry, line_end + 1)
end

-- Whether one more text may be moved. Always the first, however long: else it would stay for ever.
local function new_budget()
  return { jobs = MOST_JOBS, bytes = MOST_BYTES }
end
local function charge(budget, text)
  if budget.jobs == 0 or (budget.jobs < MOST_JOBS and #text > budget.bytes) then return false end
  budget.jobs, budget.bytes = budget.jobs - 1, budget.bytes - #text
  return true
end

-- What is done with texts: made where it is called for, as each function that is made costs every call of a script 60 ns.
local made
local function texts()
  if made then return made end

  -- What a JSON object says; nothing: it is none. The parser stops at a NUL, which no JSON may hold, whatever is behind it.
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

  -- Where the body of a payload ends, its attempts, crashes, exceptions, timeouts and releases, and its fields where they
  -- had to be decoded. Nothing: it is not a JSON object. `src/payload/counters.ts` has the rule in words, and keeps it too.
  local function read_counters(text)
    local start, _, attempts = find(text, '[{,]"attempts":(%d+)}$', -LONGEST_COUNTER)
    if start and byte(text, 1) == OPENING then
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

  -- A body with more members behind it. Only in an empty object does no comma stand between the two.
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

  -- The text of a job whose holder has gone silent: the attempt is taken back, and counted as a crash. Nothing: it is not
  -- a JSON object.
  local function reclaimed_text(text)
    local body_end, attempts, crashes, exceptions, timeouts, releases = read_counters(text)
    if not body_end then return nil end
    local tail = counters(math.max(attempts - 1, 0), crashes + 1, exceptions, timeouts, releases)
    return join(sub(text, 1, body_end), tail)
  end

  -- The text of a reservation, with an id put in before its counters.
  local function with_id(text, id)
    local body_end, attempts, crashes, exceptions, timeouts, releases = read_counters(text)
    local body = join(sub(text, 1, body_end), '"id":"' .. id .. '"')
    return join(body, counters(attempts, crashes, exceptions, timeouts, releases))
  end

  -- The id that stands directly before the counters; nothing: it is elsewhere, or very long.
  local function last_id(text, body_end)
    if byte(text, body_end) ~= 34 then return nil end
    local _, _, id = find(sub(text, math.max(body_end - LONGEST_ID + 1, 1), body_end), '[{,]"id":"([^"\\]+)"$')
    return id
  end

  -- The id of a payload; nothing: it has none.
  local function id_of(text)
    local _, _, ours = find(text, '^,"id":"([%w-]+)","attempts":%d}$', -OUR_TAIL)
    if ours then return ours end
    local body_end, _, _, _, _, _, fields = read_counters(text)
    local id = body_end and last_id(text, body_end)
    if id or not body_end then return id end
    fields = fields or fields_of(text)
    if fields and type(fields.id) == 'string' and fields.id ~= '' then return fields.id end
  end

  -- Places (from 1, in all groups together) of texts whose jobs were cancelled; in each group texts stand from `first` on.
  -- With `reasons`, behind each place why, '' where nobody said.
  local function cancelled_among(cancelled, reasons, groups, first)
    local ids, places = {}, {}
    for _, group in ipairs(groups) do
      for i = first, #group do ids[#ids + 1] = id_of(group[i]) or '' end
    end
    if #ids == 0 then return places end
    for place, marked in ipairs(call('ZMSCORE', cancelled, unpack(ids))) do
      if marked then places[#places + 1] = place end
      if marked and reasons then
        local why = redis.pcall('HGET', reasons, ids[place])
        places[#places + 1] = type(why) == 'string' and why or ''
      end
    end
    return places
  end

  -- The job has ended, or is to run again: what was said of it is not meant for a later one of its id.
  local function unmark(cancelled, reasons, id)
    redis.pcall('ZREM', cancelled, id)
    redis.pcall('HDEL', reasons, id)
  end

  -- The first text that `is_meant` is true of, and how many were looked at before it: 100 or 1 MiB at most. `page_from`
  -- reads some, from a place on.
  local function look(page_from, is_meant)
    local budget, looked = new_budget(), 0
    repeat
      local page = page_from(looked)
      for _, text in ipairs(page) do
        if not charge(budget, text) then return nil, looked end
        if is_meant(text) then return text, looked end
        looked = looked + 1
      end
    until #page == 0
    return nil, looked
  end

  made = {
    fields_of = fields_of,
    read_counters = read_counters,
    join = join,
    counters = counters,
    reclaimed_text = reclaimed_text,
    with_id = with_id,
    last_id = last_id,
    id_of = id_of,
    cancelled_among = cancelled_among,
    unmark = unmark,
    look = look,
  }
  return made
end
