-- look.lua: hints for other workers, and when this one should look again.

-- MOST_HINTS: Laravel leaves a hint for each job. SKIPPED: seconds until a skipped queue is looked at again.
local MOST_HINTS, SKIPPED = 1000, 1

-- Leaves a hint if somebody else should look, and removes the hints of an empty queue. A hint on a paused queue would
-- wake waiting workers again and again; `resume` leaves one. So would a hint on a queue of which as many jobs run as
-- may: the call that makes room leaves one.
local function adjust_hints(turn, queue)
  if queue.most then queue.full = call('ZCARD', queue.reserved) >= queue.most end
  if queue.paused or queue.full or queue.skipped then return end
  if not (queue.visited or queue.filled or queue.first_due) then
    if queue.most and call('EXISTS', queue.ready) == 1 then leave_hint(queue.notify) end
    return
  end
  local exist = call('EXISTS', queue.ready, queue.notify)
  queue.any = exist == 2 or (exist == 1 and call('EXISTS', queue.ready) == 1)
  if exist == 2 then return end
  -- This caller will not look when jobs become due: it got all it may have, or does not read this queue at all.
  local is_ignored = turn.taken == turn.limit or not queue.visited
  if queue.any or (queue.first_due and is_ignored) then
    leave_hint(queue.notify)
  elseif exist == 1 then
    -- Not DEL, which would also remove a key that is not ours.
    call('LPOP', queue.notify, MOST_HINTS)
  end
end

-- When a job of this queue becomes due or the first lease ends. 0: jobs are ready, and may run.
local function look(turn, queue)
  if not queue.visited and not queue.full and call('EXISTS', queue.ready) == 1 then
    queue.due = 0
    return
  end
  local due = call('ZRANGE', queue.delayed, 0, 0, 'WITHSCORES')[2]
  local ending = call('ZRANGE', queue.reserved, 0, 0, 'WITHSCORES')[2]
  queue.due = math.min(tonumber(due or math.huge), tonumber(ending or math.huge))
  if not ending and call('EXISTS', turn.held) == 1 and need('revive')(turn, queue, due) then queue.due = 0 end
end

-- In how many microseconds another look is worthwhile; 0: now, -1: never.
local function next_look(turn, queues, sources)
  if turn.limit > 0 then
    for place = 1, sources do
      if queues[place].any then return 0 end
    end
  end
  local first = math.huge
  for place = 1, turn.limit > 0 and sources or 0 do
    local queue = queues[place]
    if queue.resumes then first = math.min(first, queue.resumes / 1000000) end
    if not queue.paused and not queue.skipped then
      try(look, turn, queues, place)
      if queue.due == 0 then return 0 end
      first = math.min(first, queue.due or math.huge)
    end
  end
  if turn.skipped then first = math.min(first, turn.moment / 1000000 + SKIPPED) end
  return first == math.huge and -1 or math.max(math.floor(first * 1000000 + 0.5) - turn.moment, 0)
end
