# Set-id programs of the system run without gaining rights: su refuses, sudo-free; as root it only shows that they run.
# The recorded output may differ from the native one: not compared with it.
id -u
if [ "$(id -u)" = 0 ]; then
	cp "$(command -v id)" ./id2
	chown 65534:65534 id2
	chmod 6755 id2
	./id2 -u
else
	su -c id root </dev/null && echo 'su gave root'
	echo "su ended with $?"
	echo x | newgrp root 2>/dev/null
	echo "newgrp ended with $?"
	mount -t tmpfs none . 2>/dev/null || echo mount refused
fi
exit 0
