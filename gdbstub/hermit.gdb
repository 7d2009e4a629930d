# Commands of hermit for gdb. `hermit replay` loads them; elsewhere: source hermit.gdb
# They move by telling the session where the next step shall go, so that gdb sees an ordinary stop and looks around anew.

# Searches take as long as they take; a session that is gone shows by its closed connection.
set remotetimeout 3600

# Some names are gdb's own (bookmark), which it would ask about.
set $_hermit_confirm = $_gdb_setting("confirm")
set confirm off

define when
  monitor hermit where
end
document when
Show the position in the recording: events, time, thread, and how the process ended.
end

define goto-position
  if $argc != 1
    echo Usage: goto-position POSITION\n
  else
    monitor hermit arm $arg0
    stepi
    sharedlibrary
  end
end
document goto-position
Go to a position of the recording: as `when` shows it, or a number of events,
a time like 1.5s, start, end, or the name of a bookmark.
end

define goto-event
  if $argc != 1
    echo Usage: goto-event N\n
  else
    goto-position $arg0
  end
end
document goto-event
Go to where N events of the recording have happened. `monitor hermit events` lists them.
end

define goto-time
  if $argc != 1
    echo Usage: goto-time T (1.5s, 20ms, 3m)\n
  else
    goto-position $arg0
  end
end
document goto-time
Go to a time since the start of the recording: 1.5s, 20ms, 3m.
end

define goto-start
  goto-position start
end
document goto-start
Go to the start of the process.
end

define goto-end
  goto-position end
end
document goto-end
Go to the end of the process.
end

define last-write
  if $argc == 0
    echo Usage: last-write EXPRESSION\n
  else
    if $argc == 1
      eval "monitor hermit arm last-write 0x%lx %lu", (unsigned long) &($arg0), (unsigned long) sizeof ($arg0)
      stepi
    else
      echo Write the expression without blanks.\n
    end
  end
end
document last-write
Go back to right before the instruction or system call that last changed the variable.
The expression has an address and no blanks in it: last-write table[3].size
end

define bookmark
  if $argc != 1
    echo Usage: bookmark NAME\n
  else
    monitor hermit bookmark $arg0
  end
end
document bookmark
Give the position a name. It stays with the recording; `monitor hermit bookmarks` lists all, `monitor hermit bookmark TEXT` leaves a note of several words.
end

define goto-bookmark
  if $argc != 1
    echo Usage: goto-bookmark NAME\n
  else
    goto-position $arg0
  end
end
document goto-bookmark
Go to a position that `bookmark` has named.
end

define recorded-output
  monitor hermit output
end
document recorded-output
Show what the program has written to stdout and stderr up to the position.
end

if $_hermit_confirm
  set confirm on
end
