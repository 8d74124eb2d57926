-- reserve.lua: hands out the head of a ready list with a lease.
--
--   needs aside.lua, refresh.lua, ties.lua, tied.lua, refusals.lua

-- Texts that we write end in `,"id":"`, a UUID of 36 characters and `","attempts":0}`. They are compared piece by
-- piece: a pattern would take twice the time, for each job. Nil: the text ends otherwise, or has more than nine
-- attempts.
local function attempts_in_ours(text)
  if byte(text, 1) ~= 123 or sub(text, -58, -52) ~= ',"id":"' then return nil end
  if sub(text, -15, -3) ~= '","attempts":' then return nil end
  local digit, closing = byte(text, -2, -1)
  if closing ~= 125 or digit < 48 or digit > 57 or find(text, '"', -51, true) ~= #text - 14 then return nil end
  return digit - 48
end

-- The beginning of the ties in the text of a job whose key is freed at its start (see `src/payload/ties.ts`), and how
-- far from the end it may be. We rarely have to search for it: our texts have a brace or bracket where ties would end,
-- or only a unique key held until the end (then `"ue` begins the last string before the id), or only a batch.
local UNTIL_START, DEBOUNCED, NEAR_END = ',"ties":"us', ',"ties":"d', 640
local BATCH = ',"ties":"b'
-- Of a job that was given back, and of one with a key until its end: both together are rare.
local GIVEN_BACK, UNTIL_END = '"releases":', ',"ties":"ue'

local function reserve(turn, queue, place)
  local ready, reserved, limit = queue.ready, queue.reserved, turn.limit - turn.taken
  if queue.most then
    limit = math.min(limit, queue.most - call('ZCARD', reserved))
    if limit <= 0 then return end
  end
  -- Removes nothing. But a replica refuses it, and must not answer that there are no jobs to a call that should be
  -- repeated. Besides, a full server lets a script add only after a command like this.
  if turn.settles_nothing then call('LPOP', ready, 0) end
  -- The `struct` formats that write a text without its last two bytes, followed by new bytes, by text length; false if
  -- one text of this length came before. Cutting each text first would make two long strings: a tenth of the cost of a
  -- job.
  local formats = limit > 1 and {}
  local fitting, unreadable = 1, nil
  repeat
    local found, members, count, full, any_starts, any_back = { place }, {}, 0, false, false, false
    unreadable = nil
    repeat
      -- Reading a full page of long texts would be wasteful: the first one tells how many may fit.
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
          or need('reserved_text')(turn, text)
        if formats and not form then formats[#text] = form == false and 'c' .. #text - 2 .. 'c0' end
        if not reservation then
          unreadable = text
          break
        end
        local before = attempts and byte(text, -59)
        if before ~= 125 and before ~= 93 and not any_starts then
          local quote, unique, ending = byte(text, -84, -82)
          any_starts = (quote ~= 34 or unique ~= 117 or ending ~= 101) and find(text, BATCH, -107, true) ~= #text - 106
            and (find(text, UNTIL_START, -NEAR_END, true) or find(text, DEBOUNCED, -NEAR_END, true))
        end
        if not attempts and not any_back then
          any_back = find(text, GIVEN_BACK, -NEAR_END, true) and find(text, UNTIL_END, -NEAR_END, true)
        end
        count = count + 1
        found[count + 1], members[2 * count] = reservation, reservation
      end
      if page[1] then fitting = math.max(math.floor(turn.bytes / #page[#page]), 1) end
    until full or unreadable or #page < wanted or count == limit

    if count > 0 then
      local lease_end = free_score(reserved, turn.lease_end)
      for i = 1, count do members[2 * i - 1] = lease_end end
      if call('ZADD', reserved, 'NX', unpack(members)) < count then
        need('tell_twins_apart')(turn, queue, found, lease_end)
      end
      -- Checking beforehand whether this is permitted would cost every job: it is undone instead.
      -- Not LPOP, which would return each text once more: that takes as long as reading it.
      local gone = redis.pcall('LTRIM', ready, count, -1)
      if gone.err then
        call('ZREM', reserved, unpack(found, 2))
        error(gone)
      end
      -- If this is refused, the job frees its key when it ends.
      if any_starts then need('leave_all')(turn.unique, found, true) end
      if any_back then need('take_given_up')(turn, found) end
      limit, turn.taken = limit - count, turn.taken + count
      local ends = turn.lease_ends
      ends[#ends + 1], ends[#ends + 2] = place, lease_end
      turn.jobs[#turn.jobs + 1] = found
    end
    if unreadable then
      call('LTRIM', ready, 0, -1)
      need('set_aside')(turn, queue, place, unreadable)
      call('LTRIM', ready, 1, -1)
    end
  until not unreadable or limit == 0
end

-- Makes due jobs ready, and takes what it may from the queue. For a caller that was given all it wants a moment ago
-- (`is_early`), looks for due jobs only if it would get fewer this time.
local function visit(turn, queue, place)
  queue.visited = not queue.paused and turn.taken < turn.limit
  if queue.visited and turn.is_early then
    reserve(turn, queue, place)
    if turn.taken == turn.limit then return end
  end
  turn.is_early, turn.has_refreshed, queue.refreshed = false, true, true
  local now = score(turn.moment)
  local due, ended = call('ZCOUNT', queue.delayed, '-inf', now), call('ZCOUNT', queue.reserved, '-inf', now)
  if due > 0 then need('promote')(turn, queue, now, due) end
  if ended > 0 then need('reclaim')(turn, queue, place, now, ended) end
  if queue.visited then reserve(turn, queue, place) end
end

-- Does a step for one queue. If it is refused, the other queues go on.
local function try(step, turn, queues, place)
  local done, problem = pcall(step, turn, queues[place], place)
  if not done then need('skip')(turn, queues[place], place, problem) end
end
