-- reserve.lua: hands out the head of a ready list under a lease.
--
--   rarely aside.lua, refresh.lua, ties.lua

-- What we write ends in `,"id":"`, a UUID of 36 characters and `","attempts":0}`. Compared by its pieces: a pattern
-- costs twice the time, for each job. Nil: it ends in something else, or has more than nine attempts.
local function attempts_in_ours(text)
  if byte(text, 1) ~= 123 or sub(text, -58, -52) ~= ',"id":"' then return nil end
  if sub(text, -15, -3) ~= '","attempts":' then return nil end
  local digit, closing = byte(text, -2, -1)
  if closing ~= 125 or digit < 48 or digit > 57 or find(text, '"', -51, true) ~= #text - 14 then return nil end
  return digit - 48
end

-- What stands in a text whose job has a key that no job has that runs, as `src/payload/ties.ts` says, and how far from
-- its end. Nearly always it need not be looked for: what we write has a brace or bracket where it would end, or a
-- unique key that is held until the end, or a batch, and no more.
local UNTIL_START, DEBOUNCED, NEAR_END = ',"ties":"us', ',"ties":"d', 640
local UNTIL_END, BATCH = ',"ties":"ue', ',"ties":"b'

local function reserve(turn, queue, place)
  local ready, reserved, limit = queue.ready, queue.reserved, turn.limit - turn.taken
  -- Removes nothing. But a replica refuses it, and must not say of a call to be repeated that there is nothing; and a
  -- full server lets a script add only after a command like this.
  if turn.settles_nothing then call('LPOP', ready, 0) end
  -- How `struct` writes all of a text but its last two bytes, and something behind them, by the length of the text;
  -- false where one came that was so long. To cut each first would make two long texts: a tenth of what a job costs.
  local formats = limit > 1 and {}
  local fitting, unreadable = 1, nil
  repeat
    local found, members, count, full, any_starts = { place }, {}, 0, false, false
    unreadable = nil
    repeat
      -- A page of long texts would be read for nothing: the first says how many may fit.
      local wanted = math.min(PAGE, limit - count, fitting)
      local page = call('LRANGE', ready, count, count + wanted - 1)
      for _, text in ipairs(page) do
        full = turn.moved == MOST_JOBS or (turn.moved > 0 and #text > turn.bytes)
        if full then break end
        turn.moved, turn.bytes = turn.moved + 1, turn.bytes - #text
        local attempts = attempts_in_ours(text)
        local ending = attempts and (attempts == 0 and '1}' or attempts + 1 .. '}')
        local form = formats and formats[#text]
        local reservation = ending and (form and struct.pack(form, text, ending) or sub(text, 1, -3) .. ending)
          or rarely().reserved_text(turn, text)
        if formats and not form then formats[#text] = form == false and 'c' .. #text - 2 .. 'c0' end
        if not reservation then
          unreadable = text
          break
        end
        local before = attempts and byte(text, -59)
        any_starts = any_starts or (before ~= 125 and before ~= 93
          and find(text, UNTIL_END, -92, true) ~= #text - 91 and find(text, BATCH, -107, true) ~= #text - 106
          and (find(text, UNTIL_START, -NEAR_END, true) or find(text, DEBOUNCED, -NEAR_END, true)))
        count = count + 1
        found[count + 1], members[2 * count] = reservation, reservation
      end
      if page[1] then fitting = math.max(math.floor(turn.bytes / #page[#page]), 1) end
    until full or unreadable or #page < wanted or count == limit

    if count > 0 then
      local lease_end = free_score(reserved, turn.lease_end)
      for i = 1, count do members[2 * i - 1] = lease_end end
      if call('ZADD', reserved, 'NX', unpack(members)) < count then
        rarely().tell_twins_apart(turn, queue, found, lease_end)
      end
      -- To ask beforehand whether this may be done would cost every job: it is taken back instead.
      -- Not LPOP, which would give each text once more: that takes as long as to read it.
      local gone = redis.pcall('LTRIM', ready, count, -1)
      if gone.err then
        call('ZREM', reserved, unpack(found, 2))
        error(gone)
      end
      -- Refused, it leaves them when it ends.
      if any_starts then rarely().leave_all(turn.unique, found, true) end
      limit, turn.taken = limit - count, turn.taken + count
      local ends = turn.lease_ends
      ends[#ends + 1], ends[#ends + 2] = place, lease_end
      turn.jobs[#turn.jobs + 1] = found
    end
    if unreadable then
      call('LTRIM', ready, 0, -1)
      rarely().set_aside(turn, queue, place, unreadable)
      call('LTRIM', ready, 1, -1)
    end
  until not unreadable or limit == 0
end

-- Has what is due become ready, and takes what it may from the queue. A caller that was given all it wants a moment
-- ago (`is_early`) asks what is due only where it would get less this time.
local function visit(turn, queue, place)
  queue.visited = not queue.paused and turn.taken < turn.limit
  if queue.visited and turn.is_early then
    reserve(turn, queue, place)
    if turn.taken == turn.limit then return end
  end
  turn.is_early, turn.has_refreshed, queue.refreshed = false, true, true
  local now = score(turn.moment)
  if call('ZCOUNT', queue.delayed, '-inf', now) > 0 then rarely().promote(queue, now) end
  if call('ZCOUNT', queue.reserved, '-inf', now) > 0 then rarely().reclaim(turn, queue, place, now) end
  if queue.visited then reserve(turn, queue, place) end
end

-- Does a step of one queue. Refused, it does no harm to the others.
local function try(step, turn, queues, place)
  local done, problem = pcall(step, turn, queues[place], place)
  if not done then rarely().skip(turn, queues[place], place, problem) end
end
